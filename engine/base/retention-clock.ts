/**
 * The clock by which a node's idempotency records and hints age. A record that is dropped early lets a late retry be
 * applied a second time, and a hint that is dropped early leaves a replica without the write. So no jump of the wall
 * clock may age either.
 *
 * Within one incarnation the clock follows the monotonic clock. A start goes on from the newest record of the disk, so
 * the time between that record and the start does not count: a record is kept for at least the retention time of the
 * node's running, and longer by the time during which the node was down. On a disk without records the clock starts at
 * the wall clock's time. Its stamps are compared only with each other, and never with another node's.
 */
/** The clocks of a machine (`io/clock.ts`), as far as they are needed here. */
interface Clocks {
  /** The monotonic clock, in microseconds. */
  nowUs(): number;
  /** The wall clock, in milliseconds. */
  wallMs(): number;
}

/** A clock in milliseconds that no jump of the wall clock moves. */
export class RetentionClock {
  readonly #clock: Pick<Clocks, 'nowUs'>;
  #fromMs: number;
  #fromUs: number;

  /** Starts at the wall clock's time. */
  constructor(clock: Clocks) {
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
