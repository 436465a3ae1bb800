/**
 * What the client listeners tell of their work, so that it can be counted; whoever composes the node connects it to
 * the statistics. Requests whose consistency level was not met are counted by the dispatcher, which knows why.
 */
import type { ErrorCode } from '../base/errors.ts';
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
  /** A value of this many bytes was received or sent. */
  payload(bytes: number): void;
  /** A request for several keys became so many for one key each. */
  fragmented(count: number): void;
  /** Answers owed to one connection, the one just taken on included; told per request of a pipelined protocol. */
  outQueue(length: number): void;
}

/** Tells the observer of a request that ended in this error. */
export function observeError(observer: ClientObserver, code: ErrorCode): void {
  if (isOutcome(code)) return;
  if (isRefusal(code)) observer.dropped();
  observer.failed();
}

/** Errors of requests that no replica has heard of. */
function isRefusal(code: ErrorCode): boolean {
  return code === 'Overloaded' || code === 'NoTargets' || code === 'ShuttingDown' || code === 'Standby';
}

/** Errors by which a request learns the state of an object, as it asked; an absent one is no error to begin with. */
function isOutcome(code: ErrorCode): boolean {
  return code === 'PreconditionFailed' || code === 'Conflict';
}
