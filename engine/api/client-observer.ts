/**
 * What the client listeners tell of their work, so that it can be counted; the node connects it to the statistics.
 */
import type { ErrorCode, LockstepError } from '../base/errors.ts';
import type { ConsistencyLevel } from '../replication/requests.ts';
import type { ConnectionObserver } from '../io/http.ts';

/** What a request does to objects; pings and the like are neither and are not counted as requests. */
export type Purpose = 'read' | 'write';

export interface ClientObserver extends ConnectionObserver {
  /** A request for an object arrived. */
  received(purpose: Purpose): void;
  /** It was answered, well or badly, this many microseconds after it arrived. */
  answered(latencyUs: number): void;
  /** It was refused or given up without an answer from a replica. */
  dropped(): void;
  /** It got an error for an answer ("not found" and a failed precondition are answers, not errors). */
  failed(): void;
  /** Why it failed, by the error's code; `level`: the request's own, undefined when it named none. */
  caused(code: ErrorCode, purpose: Purpose, level: ConsistencyLevel | undefined): void;
  /** A value of this many bytes was received or sent. */
  payload(bytes: number): void;
  /** A request for several keys became so many for one key each. */
  fragmented(count: number): void;
  /** Answers owed to one connection, the one just taken on included; told per request of a pipelined protocol. */
  outQueue(length: number): void;
}

/** What is counted of an error. */
export type Failure = Pick<LockstepError, 'code' | 'definite'>;

/**
 * Tells the observer of a request that was answered by this error; `level` is the request's own, if it named one. Each
 * listener does so once for every error that it answers, and nobody else does.
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

/** Errors by which a request learns the state of an object, as it asked; an absent one is no error to begin with. */
function isOutcome(code: ErrorCode): boolean {
  return code === 'PreconditionFailed' || code === 'Conflict';
}

/** No replica was asked: this node took the request in vain. */
const refusals: readonly ErrorCode[] = ['Overloaded', 'NoTargets', 'ShuttingDown', 'Standby'];
/** The same where the error says that nothing was done: these may come from replicas, too. */
const refusalsIfDefinite: readonly ErrorCode[] = ['NoQuorum', 'Timeout', 'StorageFailed'];

function isRefusal({ code, definite }: Failure): boolean {
  return refusals.includes(code) || (definite && refusalsIfDefinite.includes(code));
}
