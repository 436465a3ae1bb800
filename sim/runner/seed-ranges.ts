/**
 * A set of seeds as ranges: of a campaign nearly all seeds up to some place are run, so that a few ranges name millions.
 * Seeds of a part of a campaign (`--shard I/N`) are `step` apart.
 */

/** `[first, last]`, both included. */
export type SeedRange = readonly [first: number, last: number];

/** A set of seeds that are multiples of `step` apart. */
export class SeedRanges {
  readonly #step: number;
  /** In order, neither overlapping nor adjacent. */
  readonly #ranges: [first: number, last: number][] = [];

  constructor(step: number, ranges: readonly SeedRange[] = []) {
    this.#step = step;
    for (const [first, last] of ranges) this.#ranges.push([first, last]);
  }

  /** In order. */
  get ranges(): readonly SeedRange[] {
    return this.#ranges;
  }

  /** Whether the seed is in the set. */
  has(seed: number): boolean {
    const range = this.#ranges[this.#placeOf(seed)];
    return range !== undefined && range[0] <= seed && (seed - range[0]) % this.#step === 0;
  }

  /** Adds a seed. */
  add(seed: number): void {
    if (this.has(seed)) return;
    const place = this.#placeOf(seed);
    const [before, after] = [this.#ranges[place - 1], this.#ranges[place]];
    const joinsBefore = before !== undefined && before[1] + this.#step === seed;
    const joinsAfter = after !== undefined && after[0] - this.#step === seed;
    if (joinsBefore && joinsAfter) {
      before[1] = after[1];
      this.#ranges.splice(place, 1);
    } else if (joinsBefore) before[1] = seed;
    else if (joinsAfter) after[0] = seed;
    else this.#ranges.splice(place, 0, [seed, seed]);
  }

  /** Index of the first range that ends at the seed or after it. */
  #placeOf(seed: number): number {
    let [low, high] = [0, this.#ranges.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ranges[middle]?.[1] ?? seed) < seed) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** A seed that both lists of ranges hold, of which each has seeds `step` apart; undefined if there is none. */
export function commonSeed(
  left: readonly SeedRange[],
  right: readonly SeedRange[],
  step: number,
): number | undefined {
  for (const [first, last] of left) {
    for (const [otherFirst, otherLast] of right) {
      const from = Math.max(first, otherFirst);
      if ((first - otherFirst) % step === 0 && from <= Math.min(last, otherLast)) return from;
    }
  }
  return undefined;
}
