/**
 * Notes where the time of one client's request goes: until the dispatcher has it, until the replicas are asked, until
 * enough of them have answered, and how much of that was this node's own disk. The listeners create it if slow requests
 * are logged or the request is traced, and the dispatcher and its rounds fill it in. A request that reads before it
 * writes adds both up.
 *
 * All times are microseconds of the monotonic clock.
 */
import type { ByteString } from './ids.ts';
import type { OpenSpan } from './request-trace.ts';

/** The times of one request. */
export class RequestTimes {
  /** When the request arrived. */
  readonly startUs: number;
  /** The bucket that the request concerns, for the log; undefined if it concerns several. */
  bucket: ByteString | undefined;
  /** The request's span, from its arrival to its answer; undefined if the request is not traced. */
  readonly span: OpenSpan | undefined;
  /** The code of the error that the request was answered with, or that a step of a traced one failed with last. */
  failure: string | undefined;
  /** From the arrival to the first dispatch: parsing, and waiting behind other requests of the connection or the key. */
  waitUs = 0;
  /** Routing, choosing replicas, and sending the questions. */
  planUs = 0;
  /** From the questions until enough replicas have answered or failed. `syncUs` is part of it. */
  replicasUs = 0;
  /** From the questions until this node's own copy was durable. */
  syncUs = 0;
  #lastUs: number | undefined;
  #markUs = 0;

  constructor(startUs: number, span?: OpenSpan) {
    this.startUs = startUs;
    this.span = span;
    this.#markUs = startUs;
  }

  /** The dispatcher has taken the request, or a further step of it. */
  dispatched(nowUs: number): void {
    if (this.#lastUs === undefined) this.waitUs = nowUs - this.startUs;
    this.#markUs = nowUs;
    this.#lastUs = nowUs;
  }

  /** The span of a dispatch that begins now; undefined if the request is not traced. */
  dispatchSpan(nowUs: number): OpenSpan | undefined {
    return this.span?.child('dispatch', nowUs);
  }

  /** The replicas are asked. */
  asked(nowUs: number): void {
    this.planUs += nowUs - this.#markUs;
    this.#markUs = nowUs;
    this.#lastUs = nowUs;
  }

  /** This node's own copy is durable. */
  synced(nowUs: number): void {
    this.syncUs += nowUs - this.#markUs;
  }

  /** A transaction's decision was forced to the disk for `us` microseconds. */
  forced(us: number): void {
    this.syncUs += us;
  }

  /** Enough replicas have answered, or too many failed. */
  concluded(nowUs: number): void {
    this.replicasUs += nowUs - this.#markUs;
    this.#markUs = nowUs;
    this.#lastUs = nowUs;
  }

  /** From the replicas' answers to the request's. The whole time if the request never reached the dispatcher. */
  answerUs(endUs: number): number {
    return endUs - (this.#lastUs ?? this.startUs);
  }
}
