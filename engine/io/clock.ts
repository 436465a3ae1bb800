/**
 * The clock port: the only source of time and of timers.
 *
 * Promised: `nowUs` never goes back within one incarnation. A timer fires at most once, and never after `cancel`.
 * Timers that one caller sets for one instant fire in the order in which they were set.
 *
 * Not promised: that a timer fires at its instant. A stall delays it by any amount, and it may fire up to 1 ms early,
 * as Node's timers do; no code may rely on `elapsed >= delay`. `wallMs` need not move forward, keep one speed, or agree
 * with another node's. Values of `nowUs` from two nodes or two incarnations cannot be compared.
 */
import { Deferred } from '../base/deferred.ts';

/** The clock of one node. */
export interface Clock {
  /** Monotonic microseconds since an arbitrary origin; a whole number. */
  nowUs(): number;
  /** Milliseconds since the UNIX epoch, as the machine believes; a whole number. May jump either way. */
  wallMs(): number;
  /** Calls `fire` once, about `delayUs` microseconds from now; for 0 or less soon, but never within this call. */
  after(delayUs: number, fire: () => void): Timer;
}

/** A timer that was set with `after`. */
export interface Timer {
  /** Prevents the timer from firing. Has no effect once it has fired. */
  cancel(): void;
}

/** Resolves after about `delayUs` microseconds. */
export function sleep(clock: Clock, delayUs: number): Promise<void> {
  const done = new Deferred<void>();
  clock.after(delayUs, () => done.resolve());
  return done.promise;
}
