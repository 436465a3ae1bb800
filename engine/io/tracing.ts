/**
 * The tracing port: takes the spans of sampled requests out of the node, on a machine to an OpenTelemetry collector.
 * Promised: `ended` returns at once and never throws, and memory is bounded. Not promised: that a span arrives.
 */
import type { Span } from '../base/request-trace.ts';

/** Where spans go, and which node they come from. */
export interface TraceTarget {
  /** The URL that spans are posted to (OTLP over HTTP). */
  readonly url: string;
  readonly cluster: string;
  readonly node: string;
  readonly datacenter: string;
  readonly rack: string;
  /** The product's version. */
  readonly version: string;
}

/** What became of the spans so far. */
export interface SpanCounts {
  /** The collector took them. */
  readonly exported: number;
  /** The collector refused them or could not be reached. */
  readonly failed: number;
  /** Too many others waited. */
  readonly dropped: number;
}

/** Exports one node's spans. */
export interface SpanSink {
  /** Takes a span, or counts it as dropped. */
  ended(span: Span): void;
  counts(): SpanCounts;
  /** Sends what waits, for a bounded time. No span may be given afterwards. */
  close(): Promise<void>;
}

/** Opens sinks of spans. */
export interface Tracing {
  open(target: TraceTarget): SpanSink;
}
