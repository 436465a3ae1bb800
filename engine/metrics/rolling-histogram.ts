/**
 * A histogram of the recent past. Dynomite cleared its histograms every five minutes, so that an old peak does not stay
 * in the percentiles for ever. Here two halves alternate, so that no reader finds an empty histogram right after a
 * turn. The rollups cover the last five to ten minutes, or the whole incarnation while it is shorter.
 */
import type { Rollup } from './histogram.ts';
import { EstimatedHistogram } from './histogram.ts';

/** Microseconds between two turns. */
export const histogramTurnUs = 300_000_000;

/** The histogram. */
export class RollingHistogram {
  #current = new EstimatedHistogram();
  #previous = new EstimatedHistogram();
  readonly #both = new EstimatedHistogram();

  /** Records a whole number 0..2^53-1. Allocates nothing after the first call. */
  record(value: number): void {
    this.#current.record(value);
  }

  /** Number of values that the rollups cover. */
  get count(): number {
    return this.#current.count + this.#previous.count;
  }

  /** Drops the values recorded before the last turn. */
  turn(): void {
    const forgotten = this.#previous;
    forgotten.clear();
    this.#previous = this.#current;
    this.#current = forgotten;
  }

  /** The published values, of both halves. */
  rollup(): Rollup {
    if (this.#previous.count === 0) return this.#current.rollup();
    this.#both.clear();
    this.#both.add(this.#current);
    this.#both.add(this.#previous);
    return this.#both.rollup();
  }
}
