/**
 * Spans as OpenTelemetry has them, and their way to a collector: the library's batching and its OTLP exporter. The only
 * module that imports OpenTelemetry; load it lazily.
 *
 * The exporter is built from its parts, because `OTLPTraceExporter` also takes headers and certificates from variables
 * of the environment.
 */
import type { HrTime, SpanContext } from '@opentelemetry/api';
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import {
  createOtlpHttpExportDelegate,
  httpAgentFactoryFromOptions,
} from '@opentelemetry/otlp-exporter-base/node-http';
import { JsonTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

import type { Span, TraceContext } from '../base/request-trace.ts';
import type { TraceTarget } from '../io/tracing.ts';
import { realClock } from './clock.ts';

const batchSpansMax = 512;
/** How long spans wait for others. */
const batchMs = 1000;
/** How long one batch may take, with all attempts. */
const exportMsMax = 10_000;
/** The wall clock may differ from the monotonic one by this much before span times follow it. */
const driftUsMax = 50_000;

/** Sends spans in batches. */
export interface SpanExports {
  add(span: Span): void;
  /** Sends what waits. Never rejects. */
  shutdown(): Promise<void>;
}

/** Called for each batch that was sent, with the error if it did not arrive. */
export type SentListener = (count: number, error: Error | undefined) => void;

/** Opens the way to a collector. The caller must not have more than `spansMax` spans under way. */
export function openSpanExports(target: TraceTarget, spansMax: number, sent: SentListener): SpanExports {
  const exporter = counting(exporterTo(target.url), sent);
  const processor = new BatchSpanProcessor(exporter, {
    maxQueueSize: spansMax,
    maxExportBatchSize: batchSpansMax,
    scheduledDelayMillis: batchMs,
    exportTimeoutMillis: 2 * exportMsMax,
  });
  const resource = resourceFromAttributes({
    'service.name': 'lockstep',
    'service.namespace': target.cluster,
    'service.instance.id': target.node,
    'service.version': target.version,
    'lockstep.datacenter': target.datacenter,
    'lockstep.rack': target.rack,
  });
  const scope = { name: 'lockstep', version: target.version };
  const times = new WallTimes();
  return {
    add: (span) => processor.onEnd(readable(span, times, resource, scope)),
    // A batch that fails was reported to `sent`, and rejects here, too.
    shutdown: () => processor.shutdown().catch(() => undefined),
  };
}

function exporterTo(url: string): SpanExporter {
  const options = {
    url,
    headers: () => Promise.resolve({ 'Content-Type': 'application/json' }),
    timeoutMillis: exportMsMax,
    concurrencyLimit: 4,
    compression: 'none' as const,
    agentFactory: httpAgentFactoryFromOptions({ keepAlive: true }),
  };
  const delegate = createOtlpHttpExportDelegate(
    options,
    JsonTraceSerializer,
    'otlp_http_json_span_exporter',
    TraceExporterMetricsHelper,
    undefined,
  );
  return new OTLPExporterBase(delegate);
}

/** The same exporter; each batch's outcome is reported. */
function counting(exporter: SpanExporter, sent: SentListener): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        sent(spans.length, Number(result.code) === 0 ? undefined : (result.error ?? new Error('refused')));
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}

/** Wall times of the monotonic clock's, in microseconds. Steps of less than `driftUsMax` do not disturb their order. */
class WallTimes {
  #offsetUs = NaN;

  at(nowUs: number): HrTime {
    const offsetUs = realClock.wallMs() * 1000 - realClock.nowUs();
    if (!(Math.abs(offsetUs - this.#offsetUs) <= driftUsMax)) this.#offsetUs = offsetUs;
    const us = Math.round(nowUs + this.#offsetUs);
    return [Math.floor(us / 1_000_000), (us % 1_000_000) * 1000];
  }
}

function readable(
  span: Span,
  times: WallTimes,
  resource: ReadableSpan['resource'],
  instrumentationScope: ReadableSpan['instrumentationScope'],
): ReadableSpan {
  const { operation } = span.attributes;
  const own = contextOf(span, false);
  const us = span.endUs - span.startUs;
  const attributes = Object.entries(span.attributes).map(([name, value]) => [`lockstep.${name}`, value]);
  return {
    name: operation === undefined ? span.name : `${span.name} ${operation}`,
    kind: span.kind === 'server' ? SpanKind.SERVER : SpanKind.INTERNAL,
    spanContext: () => own,
    ...(span.parent === undefined ? {} : { parentSpanContext: contextOf(span.parent, span.isParentRemote) }),
    startTime: times.at(span.startUs),
    endTime: times.at(span.endUs),
    duration: [Math.floor(us / 1_000_000), (us % 1_000_000) * 1000],
    status:
      span.failure === undefined
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, message: span.failure },
    attributes: Object.fromEntries(attributes) as ReadableSpan['attributes'],
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function contextOf({ traceId, spanId }: TraceContext, isRemote: boolean): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote };
}
