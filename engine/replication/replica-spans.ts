/**
 * The spans of a traced request's work at one replica: the replica's part, and within it the wait until a write is
 * durable.
 */
import type { TraceContext } from '../base/request-trace.ts';
import { OpenSpan } from '../base/request-trace.ts';
import type { Clock } from '../io/clock.ts';

/** The spans of one replica's part in one request. */
export class ReplicaSpans {
  readonly #clock: Clock;
  readonly #span: OpenSpan;
  #sync: OpenSpan | undefined;

  private constructor(clock: Clock, span: OpenSpan) {
    this.#clock = clock;
    this.#span = span;
  }

  /** Begins this node's part under the span of the dispatch; undefined if the request is not traced. */
  static of(dispatch: OpenSpan | undefined, clock: Clock): ReplicaSpans | undefined {
    if (dispatch === undefined) return undefined;
    return new ReplicaSpans(clock, dispatch.child('replica', clock.nowUs()));
  }

  /**
   * The part that a peer asks for: its span is open already if this node traces, and ends with the answer (`node/`).
   * Undefined if the request is not traced.
   */
  static ofPeer(trace: TraceContext | undefined, clock: Clock): ReplicaSpans | undefined {
    return trace instanceof OpenSpan ? new ReplicaSpans(clock, trace) : undefined;
  }

  /** The write is on its way to the disk. */
  applied(): void {
    this.#sync ??= this.#span.child('sync', this.#clock.nowUs());
  }

  /** The wait for the disk is over, if there was one; the part of a peer's request goes on until its answer. */
  synced(failure?: string): void {
    this.#sync?.end(this.#clock.nowUs(), failure);
  }

  /** The part is over. `failure`: the code of the error that it ended with. */
  ended(failure?: string): void {
    this.synced(failure);
    this.#span.end(this.#clock.nowUs(), failure);
  }
}
