/** Defines what the client listeners report of their work for the metrics. `node/` connects it to the statistics. */
import type { ErrorCode, LockstepError } from '../base/errors.ts';
import type { RequestTimes } from '../base/request-times.ts';
import type { ConsistencyLevel } from '../replication/requests.ts';
import type { ConnectionObserver } from '../io/http.ts';

/** What a request does to objects. Pings and the like do neither, and are not counted as requests. */
export type Purpose = 'read' | 'write';

/** The protocols of client listeners, as metrics and logs name them. */
export type ClientProtocol = 'http' | 'pbc' | 'redis';

/**
 * What a request does, as metrics and logs name it. `read` and `write`: any other request for objects, such as most
 * Redis commands and questions about transactions.
 */
export type Operation = 'get' | 'put' | 'delete' | 'transaction' | Purpose;

/** Receives one call per event of a client listener; the metrics and tests implement it. */
export interface ClientObserver extends ConnectionObserver {
  /** A client's request for an object has arrived. */
  received(purpose: Purpose): void;
  /** The listener has answered a request, with success or an error, `latencyUs` microseconds after it arrived. */
  answered(
    latencyUs: number,
    protocol: ClientProtocol,
    operation: Operation,
    times?: RequestTimes,
    requestId?: string,
  ): void;
  /**
   * The times to fill in for a request that arrived at `startUs`; undefined if nothing reads them. `headers`: those of an
   * HTTP request.
   */
  timesOf(startUs: number, headers?: Readonly<Record<string, string | undefined>>): RequestTimes | undefined;
  /** The listener refused a request, or gave it up without an answer from a replica. */
  dropped(): void;
  /** The listener answered with an error. "Not found" and a failed precondition are answers, not errors. */
  failed(): void;
  /**
   * Why a request failed: the error's code. `level` is the level that the request named, undefined if it named none.
   */
  caused(code: ErrorCode, purpose: Purpose, level: ConsistencyLevel | undefined): void;
  /** A value of `bytes` bytes was received or sent. */
  payload(bytes: number): void;
  /** The listener split a request for several keys into `count` requests for one key each. */
  fragmented(count: number): void;
  /**
   * Answers owed to one connection, including that of the request just accepted. Reported once per request of a
   * pipelined protocol.
   */
  outQueue(length: number): void;
}

/** The parts of an error that decide how it is counted. */
export type Failure = Pick<LockstepError, 'code' | 'definite'>;

/**
 * Counts a request that the listener answered with this error. `level` is the level that the request named, if any. A
 * listener calls this exactly once for every error that it answers; no other module calls it.
 */
export function observeError(
  observer: ClientObserver,
  failure: Failure,
  purpose: Purpose,
  level?: ConsistencyLevel,
): void {
  if (isOutcome(failure.code)) return;
  if (isRefusal(failure)) observer.dropped();
  observer.caused(failure.code, purpose, level);
  observer.failed();
}

/**
 * Errors that answer the client's condition: they tell it the object's state. A missing object is not an error at all.
 */
function isOutcome(code: ErrorCode): boolean {
  return code === 'PreconditionFailed' || code === 'Conflict';
}

/** Errors that this node answers without asking a replica. */
const refusals: readonly ErrorCode[] = ['Overloaded', 'NoTargets', 'ShuttingDown', 'Standby'];
/** Errors that count as refusals only if nothing was done. Replicas may return them, too. */
const refusalsIfDefinite: readonly ErrorCode[] = ['NoQuorum', 'Timeout', 'StorageFailed'];

function isRefusal({ code, definite }: Failure): boolean {
  return refusals.includes(code) || (definite && refusalsIfDefinite.includes(code));
}
