/**
 * The clock by which a node's idempotency records age. A record that is dropped early lets a late retry be applied a
 * second time, so no jump of the wall clock may age a record.
 *
 * Within one incarnation the clock follows the monotonic clock. A start goes on from the newest record of the disk, so
 * the time between that record and the start does not count: a record is kept for at least the retention time of the
 * node's running, and longer by the time during which the node was down. On a disk without records the clock starts at
 * the wall clock's time. Its stamps are compared only with each other, and never with another node's.
 */
import type { Clock } from '../io/clock.ts';

/** A clock in milliseconds that no jump of the wall clock moves. */
export class RetentionClock {
  readonly #clock: Pick<Clock, 'nowUs'>;
  #fromMs: number;
  #fromUs: number;

  /** Starts at the wall clock's time. */
  constructor(clock: Pick<Clock, 'nowUs' | 'wallMs'>) {
    this.#clock = clock;
    this.#fromMs = clock.wallMs();
    this.#fromUs = clock.nowUs();
  }

  /** Now: a whole number of milliseconds, which never goes back between two calls of `continueFrom`. */
  get nowMs(): number {
    return this.#fromMs + Math.floor((this.#clock.nowUs() - this.#fromUs) / 1000);
  }

  /** Goes on from `newestMs`: the newest stamp that an earlier incarnation left on the disk. */
  continueFrom(newestMs: number): void {
    this.#fromMs = newestMs;
    this.#fromUs = this.#clock.nowUs();
  }
}
