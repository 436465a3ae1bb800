/**
 * Traces requests of clients: decides at the edge which requests are sampled, gives their spans ids, and opens the spans
 * of peers' requests that belong to a trace. Undefined in a node that does not trace, so an untraced request costs one
 * comparison.
 *
 * A request whose client sends `traceparent` is traced if the client records it; any other is with the probability
 * `otel_sample_ratio`. The decision travels with the context: only sampled requests have one.
 */
import type { ClientProtocol, Operation } from '../api/client-observer.ts';
import { textOf } from '../base/ids.ts';
import { OpenSpan, parseTraceParent } from '../base/request-trace.ts';
import type { Span, SpanRecorder, TraceContext } from '../base/request-trace.ts';
import type { RequestTimes } from '../base/request-times.ts';
import { version } from '../base/version.ts';
import type { NodeConfig } from '../config/config.ts';
import type { Clock } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { Random } from '../io/random.ts';
import type { SpanSink } from '../io/tracing.ts';
import type { FamilySource } from '../metrics/family.ts';
import { counterBy } from '../metrics/family.ts';
import type { RequestHandler } from '../peer/inbound.ts';
import type { PeerRequest } from '../peer/wire/messages.ts';

const drawCount = 0x100000000;

/** The tracer of one node. */
export class Tracer implements SpanRecorder {
  readonly #random: Random;
  readonly #sink: SpanSink;
  /** A draw below it samples the request. */
  readonly #threshold: number;

  /** `ratio`: the probability, from 0 to 1, that a request is sampled whose client does not decide. */
  constructor(random: Random, sink: SpanSink, ratio: number) {
    this.#random = random;
    this.#sink = sink;
    this.#threshold = ratio * drawCount;
  }

  /** The tracer that the configuration asks for; undefined if tracing is off, or if the ports export no spans. */
  static of(io: Pick<Io, 'random' | 'log' | 'tracing'>, config: NodeConfig): Tracer | undefined {
    const { otelEndpoint: url, otelSampleRatio, clusterId: cluster, name: node, datacenter, rack } = config;
    if (url === undefined) return undefined;
    if (io.tracing === undefined) {
      io.log.event('warn', 'tracing.export.unavailable', {
        detail: 'the ports of this node export no spans',
      });
      return undefined;
    }
    const sink = io.tracing.open({ url, cluster, node, datacenter, rack, version });
    return new Tracer(io.random.fork('tracing'), sink, otelSampleRatio);
  }

  /** The span of a client's request that arrived at `startUs`; undefined if it is not sampled. */
  begin(startUs: number, traceParent: string | undefined): OpenSpan | undefined {
    const parent = traceParent === undefined ? undefined : parseTraceParent(traceParent);
    if (parent === undefined) {
      if (this.#random.u32() >= this.#threshold) return undefined;
      const traceId = this.#random.bytes(16).toString('hex');
      return new OpenSpan(this, 'client', 'server', traceId, undefined, startUs);
    }
    if (!parent.isSampled) return undefined;
    return new OpenSpan(this, 'client', 'server', parent.traceId, parent, startUs);
  }

  /** As in `SpanRecorder`. */
  spanId(): string {
    return this.#random.bytes(8).toString('hex');
  }

  /** As in `SpanRecorder`. */
  ended(span: Span): void {
    this.#sink.ended(span);
  }

  /** The counter of spans by what became of them. */
  get family(): FamilySource {
    return counterBy(
      'svc_trace_spans_total',
      'Spans of sampled requests: exported to the collector, failed if it refused them or could not be reached, dropped if too many waited.',
      'outcome',
      () => ({ ...this.#sink.counts() }),
    );
  }

  /** Sends what waits, for a bounded time. Call it last. */
  close(): Promise<void> {
    return this.#sink.close();
  }
}

/** Ends the span of a request that was answered at `endUs`. */
export function endRequest(
  span: OpenSpan,
  endUs: number,
  protocol: ClientProtocol,
  operation: Operation,
  { bucket, failure }: Pick<RequestTimes, 'bucket' | 'failure'>,
  requestId: string | undefined,
): void {
  span.note('operation', operation);
  span.note('protocol', protocol);
  if (bucket !== undefined) span.note('bucket', textOf(bucket));
  if (requestId !== undefined) span.note('request_id', requestId);
  span.end(endUs, failure);
}

/**
 * Wraps the handler of peers' requests: a request with a trace context gets a span, from its arrival to its answer,
 * which stands in its `trace` for the handler. Without a tracer it is the handler itself.
 */
export function tracedHandler(
  tracer: Tracer | undefined,
  clock: Clock,
  handle: RequestHandler,
): RequestHandler {
  if (tracer === undefined) return handle;
  return (from, request, reply) => {
    if (!isTraced(request)) {
      handle(from, request, reply);
      return;
    }
    const span = spanOfPeer(tracer, clock, request.kind, request.trace);
    span.note('operation', request.kind);
    span.note('from', from);
    handle(from, { ...request, trace: span }, (answer) => {
      span.end(clock.nowUs(), answer.kind === 'failed' ? answer.code : undefined);
      reply(answer);
    });
  };
}

type TracedRequest = Extract<PeerRequest, { readonly trace?: unknown }> & { readonly trace: TraceContext };

function isTraced(request: PeerRequest): request is TracedRequest {
  return 'trace' in request && request.trace !== undefined;
}

/** A forwarded write is dispatched here; everything else is a replica's part. */
function spanOfPeer(tracer: Tracer, clock: Clock, kind: string, context: TraceContext): OpenSpan {
  const name = kind === 'coordinateWrite' ? 'dispatch' : 'replica';
  return new OpenSpan(tracer, name, 'server', context.traceId, context, clock.nowUs());
}
