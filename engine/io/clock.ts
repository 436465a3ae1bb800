/**
 * The clock door: the only source of time and of timers.
 *
 * Promised: `nowUs` never goes back within one life of the process; a timer fires at most once and never after
 * `cancel`; timers set for one instant by one caller fire in the order in which they were set.
 *
 * Not promised: that a timer fires at its instant (it may be late by any stall, and early by up to 1 ms, as Node's
 * own timers are), so nothing may rely on `elapsed >= delay`; that `wallMs` moves forward, at one speed, or agrees
 * with any other node's; that `nowUs` of two nodes or two lives can be compared.
 */
import { Deferred } from '../base/deferred.ts';

export interface Clock {
  /** Monotonic microseconds since an arbitrary origin; a whole number. */
  nowUs(): number;
  /** Milliseconds since the UNIX epoch, as the machine believes; a whole number. May jump either way. */
  wallMs(): number;
  /** Calls `fire` once, about `delayUs` microseconds from now (0 or less: soon, but never within this call). */
  after(delayUs: number, fire: () => void): Timer;
}

export interface Timer {
  /** The timer will not fire any more. Harmless when it has fired. */
  cancel(): void;
}

/** Resolves after about `delayUs` microseconds. */
export function sleep(clock: Clock, delayUs: number): Promise<void> {
  const done = new Deferred<void>();
  clock.after(delayUs, () => done.resolve());
  return done.promise;
}
