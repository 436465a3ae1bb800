/**
 * A histogram of the recent past. The original forgot everything every five minutes, so that an old peak does not stay
 * in the percentiles for ever; here two halves take turns, so that a reader never meets an empty histogram right after
 * the turn: the rollups cover the last five to ten minutes, or the node's whole life while that is shorter.
 */
import type { Rollup } from './histogram.ts';
import { EstimatedHistogram } from './histogram.ts';

/** Microseconds between two turns. */
export const histogramTurnUs = 300_000_000;

export class RollingHistogram {
  #current = new EstimatedHistogram();
  #previous = new EstimatedHistogram();
  readonly #both = new EstimatedHistogram();

  /** Records a whole number 0..2^53-1. Allocates nothing after the first. */
  record(value: number): void {
    this.#current.record(value);
  }

  /** Values that the rollups speak of. */
  get count(): number {
    return this.#current.count + this.#previous.count;
  }

  /** Forgets what was recorded before the last turn. */
  turn(): void {
    const forgotten = this.#previous;
    forgotten.clear();
    this.#previous = this.#current;
    this.#current = forgotten;
  }

  rollup(): Rollup {
    if (this.#previous.count === 0) return this.#current.rollup();
    this.#both.clear();
    this.#both.add(this.#current);
    this.#both.add(this.#previous);
    return this.#both.rollup();
  }
}
