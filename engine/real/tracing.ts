/**
 * The tracing port on a machine: batches of spans to an OpenTelemetry collector, by OTLP over HTTP. OpenTelemetry's
 * modules are loaded when a sink is opened, so a node that does not trace pays nothing for them.
 *
 * Memory is bounded: at most `spansMax` spans wait or are being sent; further ones are dropped and counted.
 */
import type { Span } from '../base/request-trace.ts';
import type { Log } from '../io/log.ts';
import type { SpanCounts, SpanSink, TraceTarget, Tracing } from '../io/tracing.ts';
import type { SpanExports } from './span-exports.ts';

/** The most spans that wait or are being sent. */
export const spansMax = 4096;

/** How long `close` waits for what waits to be sent. */
const closeMsMax = 2000;

/** Makes the port. */
export function createRealTracing(log: Log): Tracing {
  return { open: (target) => new CollectorSink(log, target) };
}

class CollectorSink implements SpanSink {
  readonly #log: Log;
  readonly #target: TraceTarget;
  /** Spans that ended before the modules were loaded. */
  readonly #early: Span[] = [];
  #exports: SpanExports | undefined;
  readonly #loaded: Promise<void>;
  #waiting = 0;
  #isFailing = false;
  readonly #counts = { exported: 0, failed: 0, dropped: 0 };

  constructor(log: Log, target: TraceTarget) {
    this.#log = log;
    this.#target = target;
    this.#loaded = this.#load();
  }

  ended(span: Span): void {
    if (this.#waiting >= spansMax) {
      this.#counts.dropped += 1;
      return;
    }
    this.#waiting += 1;
    if (this.#exports === undefined) this.#early.push(span);
    else this.#exports.add(span);
  }

  counts(): SpanCounts {
    return this.#counts;
  }

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeMsMax);
    });
    await Promise.race([this.#loaded.then(() => this.#exports?.shutdown()), late]);
    clearTimeout(timer);
  }

  async #load(): Promise<void> {
    try {
      const { openSpanExports } = await import('./span-exports.ts');
      this.#exports = openSpanExports(this.#target, spansMax, (count, error) => this.#sent(count, error));
    } catch (error) {
      this.#log.event('error', 'tracing.export.unavailable', { detail: String(error) });
      return;
    }
    for (const span of this.#early.splice(0)) this.#exports.add(span);
  }

  #sent(count: number, error: Error | undefined): void {
    this.#waiting -= count;
    if (error === undefined) this.#counts.exported += count;
    else this.#counts.failed += count;
    if ((error !== undefined) === this.#isFailing) return;
    this.#isFailing = error !== undefined;
    const { url } = this.#target;
    if (error === undefined) this.#log.event('info', 'tracing.export.recovered', { url });
    else this.#log.event('warn', 'tracing.export.failed', { url, detail: error.message });
  }
}
