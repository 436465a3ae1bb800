/**
 * Logs requests of clients that took long (`slow_request_ms`), each with where its time went. At most `linesMax` lines
 * a second are written, because a node that is slow has little time for lines; the next line states how many were left
 * out. Keys and values are never logged: they are the users' own.
 */
import type { ClientProtocol, Operation } from '../api/client-observer.ts';
import type { Log, LogFields } from '../io/log.ts';
import { textOf } from '../base/ids.ts';
import { RequestTimes } from '../base/request-times.ts';

/** The most lines a second. */
export const slowLinesMax = 10;

/** The log of slow requests of one node. */
export class SlowRequests {
  readonly #log: Log;
  readonly #slowUs: number;
  #secondUs = 0;
  #lines = 0;
  #unlogged = 0;

  /** `slowMs`: milliseconds from which on a request counts as slow; 0 turns the log off. */
  constructor(log: Log, slowMs: number) {
    this.#log = log;
    this.#slowUs = slowMs * 1000;
  }

  /** The times to fill in for a request that arrived at `startUs`; undefined if the log is off. */
  timesOf(startUs: number): RequestTimes | undefined {
    return this.#slowUs === 0 ? undefined : new RequestTimes(startUs);
  }

  /** A request was answered `latencyUs` after it arrived; logs it if that was long. */
  answered(
    latencyUs: number,
    protocol: ClientProtocol,
    operation: Operation,
    times: RequestTimes,
    requestId: string | undefined,
  ): void {
    if (this.#slowUs === 0 || latencyUs < this.#slowUs || !this.#mayWrite(times.startUs + latencyUs)) return;
    const unlogged = this.#unlogged;
    this.#unlogged = 0;
    const fields: LogFields = {
      protocol,
      operation,
      ...(times.span === undefined ? {} : { traceId: times.span.traceId }),
      ...(times.bucket === undefined ? {} : { bucket: textOf(times.bucket) }),
      ...(requestId === undefined ? {} : { requestId }),
      ms: millis(latencyUs),
      waitMs: millis(times.waitUs),
      planMs: millis(times.planUs),
      replicasMs: millis(times.replicasUs),
      syncMs: millis(times.syncUs),
      answerMs: millis(times.answerUs(times.startUs + latencyUs)),
      ...(unlogged === 0 ? {} : { unlogged }),
    };
    this.#log.event('warn', 'api.request.slow', fields);
  }

  #mayWrite(nowUs: number): boolean {
    if (nowUs - this.#secondUs >= 1_000_000) {
      this.#secondUs = nowUs;
      this.#lines = 0;
    }
    if (this.#lines < slowLinesMax) {
      this.#lines += 1;
      return true;
    }
    this.#unlogged += 1;
    return false;
  }
}

function millis(us: number): number {
  return Math.round(us / 100) / 10;
}
