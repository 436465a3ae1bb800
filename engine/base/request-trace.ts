/**
 * The trace of one client's request over all nodes that work on it (OpenTelemetry's model, W3C's ids): open spans, their
 * parents, and the context that travels between nodes. Only sampled requests have spans; a request without one costs its
 * checks against undefined.
 *
 *     client       the coordinating node, from the request's arrival to its answer
 *       dispatch   from the dispatcher's start until enough replicas have answered
 *         replica  each replica's part, on its node
 *           sync   of a write: from its hand-over to the store until it is durable there
 *
 * A write that is forwarded has a further dispatch span, of the node that coordinates it, below the first.
 */

/** The names of spans. */
export type SpanName = 'client' | 'dispatch' | 'replica' | 'sync';

/** Whether a span answers another process or is a step within one. */
export type SpanKind = 'server' | 'internal';

/** What identifies a span to the spans below it. */
export interface TraceContext {
  /** 32 hexadecimal digits in lower case, not all zero. */
  readonly traceId: string;
  /** 16 hexadecimal digits in lower case, not all zero. */
  readonly spanId: string;
}

/** A span that has ended. Times are microseconds of the node's monotonic clock. */
export interface Span extends TraceContext {
  /** The span above it; undefined if it is the trace's first. */
  readonly parent: TraceContext | undefined;
  /** Whether the parent is a span of another process. */
  readonly isParentRemote: boolean;
  readonly name: SpanName;
  readonly kind: SpanKind;
  readonly startUs: number;
  readonly endUs: number;
  readonly attributes: SpanAttributes;
  /** The code of the error that the step ended with. */
  readonly failure: string | undefined;
}

/** Facts about a span by name. Keys and values of objects are never among them. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** Gives new spans their ids, and takes spans that have ended. */
export interface SpanRecorder {
  /** A new id of a span. */
  spanId(): string;
  /** A span has ended. */
  ended(span: Span): void;
}

/** A span that has not ended. */
export class OpenSpan implements TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly #recorder: SpanRecorder;
  readonly #name: SpanName;
  readonly #kind: SpanKind;
  readonly #parent: TraceContext | undefined;
  readonly #startUs: number;
  #attributes: Record<string, string | number> | undefined;
  #isOver = false;

  /** `parent` undefined: the first span of the trace `traceId`. */
  constructor(
    recorder: SpanRecorder,
    name: SpanName,
    kind: SpanKind,
    traceId: string,
    parent: TraceContext | undefined,
    startUs: number,
  ) {
    this.#recorder = recorder;
    this.#name = name;
    this.#kind = kind;
    this.traceId = traceId;
    this.spanId = recorder.spanId();
    this.#parent = parent;
    this.#startUs = startUs;
  }

  /** Begins a step of this span on this node. */
  child(name: SpanName, startUs: number): OpenSpan {
    return new OpenSpan(this.#recorder, name, 'internal', this.traceId, this, startUs);
  }

  /** Notes a fact. */
  note(name: string, value: string | number): void {
    this.#attributes ??= {};
    this.#attributes[name] = value;
  }

  /** Ends the span; a later call does nothing. `failure`: the code of the error that it ends with. */
  end(endUs: number, failure?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { traceId, spanId } = this;
    this.#recorder.ended({
      traceId,
      spanId,
      parent: this.#parent,
      isParentRemote: this.#kind === 'server' && this.#parent !== undefined,
      name: this.#name,
      kind: this.#kind,
      startUs: this.#startUs,
      endUs,
      attributes: this.#attributes ?? noAttributes,
      failure,
    });
  }
}

const noAttributes: SpanAttributes = {};

/** A parsed `traceparent` header. */
export interface TraceParent extends TraceContext {
  /** Whether the caller records the trace. */
  readonly isSampled: boolean;
}

const traceParent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Parses a `traceparent` header (W3C Trace Context, section 3.2). Undefined for one that is malformed, which counts as
 * absent.
 */
export function parseTraceParent(header: string): TraceParent | undefined {
  const [, version = 'ff', traceId = '', spanId = '', flags = '00', rest] = traceParent.exec(header) ?? [];
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
