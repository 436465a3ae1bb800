/**
 * An estimated histogram: 94 buckets whose offsets grow by a factor of 1.2. Source: Cassandra 1.2's EstimatedHistogram
 * by way of Dynomite's dyn_histogram.c. A value belongs to the bucket with the largest offset not above it; 0 belongs
 * to the first.
 *
 * The rollups are exactly:
 * - An empty histogram returns 0 for everything.
 * - The maximum is the true maximum.
 * - The percentile p is the offset of the first bucket at which the running count reaches count x p, rounded up (the
 *   nearest rank): at least that share of the values is not above it. The original rounds down, so its 99.9th
 *   percentile of two values is the smaller one, which is below their mean.
 * - The mean is the sum of count x offset over the buckets, divided by the count, rounded up.
 * - Overflow: the last bucket is open and holds everything from 36,157,192 (36 s in microseconds) on. Its values enter
 *   the mean exactly, and a percentile in it is the true maximum. No sentinel is ever published.
 * - No rollup exceeds the true maximum (offsets are the lower ends of their buckets; only 0 counts as 1).
 *
 * Hence p95 <= p99 <= p999 <= max. At most the share 1 - p of the values lies above the percentile p: the mean is at
 * most p x percentile + (1 - p) x max, and at least (1 - p) x percentile. Of fewer than 1 / (1 - p) values none lies
 * above it.
 */
import { assert } from '../base/assert.ts';

/** Number of buckets, including the open last one. */
export const bucketCount = 94;

/** Lower ends of the buckets: 1, then the floor of 1.2 times the preceding one, at least one more than it. */
export const bucketOffsets: readonly number[] = Object.freeze(makeOffsets());

const overflowBucket = bucketCount - 1;
const overflowFrom = bucketOffsets[overflowBucket] ?? 0;

/**
 * For a value's binary order and the three bits after its leading one: the bucket of the smallest such value, and the
 * first value beyond that bucket. A cell spans a factor of at most 1.125, so at most one offset lies inside it and one
 * comparison finds the bucket.
 */
const cellBuckets = new Uint8Array(26 * 8);
const cellEnds = new Uint32Array(26 * 8);
fillCells();

/** The bucket of a whole number 0..2^53-1. */
export function bucketOf(value: number): number {
  if (value >= overflowFrom) return overflowBucket;
  if (value < 2) return 0;
  const order = 31 - Math.clz32(value);
  const cell = (order << 3) | (((value << 3) >>> order) & 7);
  const bucket = cellBuckets[cell] ?? 0;
  return value < (cellEnds[cell] ?? 0) ? bucket : bucket + 1;
}

/** The published values of a histogram; whole numbers in the histogram's unit. */
export interface Rollup {
  readonly mean: number;
  readonly p95: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** The shared counts of empty histograms: most of a node's about seventy histograms stay empty. */
const noCounts = new Float64Array(bucketCount);

/** The histogram. */
export class EstimatedHistogram {
  #counts = noCounts;
  #count = 0;
  #max = 0;
  /** True sum of the values in the open last bucket. */
  #overflowSum = 0;

  /** Number of values recorded. */
  get count(): number {
    return this.#count;
  }

  /** The largest value recorded; 0 if there is none. */
  get max(): number {
    return this.#max;
  }

  /** Records a whole number 0..2^53-1 (`AssertionError` otherwise). Allocates only once, for the counts. */
  record(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, 'a histogram takes whole numbers from 0');
    if (this.#counts === noCounts) this.#counts = new Float64Array(bucketCount);
    const bucket = bucketOf(value);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
    if (value > this.#max) this.#max = value;
    if (bucket === overflowBucket) this.#overflowSum += value;
  }

  /** Adds all values of `other`. */
  add(other: EstimatedHistogram): void {
    if (other.#count === 0) return;
    if (this.#counts === noCounts) this.#counts = new Float64Array(bucketCount);
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + (other.#counts[bucket] ?? 0);
    }
    this.#count += other.#count;
    this.#max = Math.max(this.#max, other.#max);
    this.#overflowSum += other.#overflowSum;
  }

  /** Removes all values. */
  clear(): void {
    if (this.#count > 0) this.#counts.fill(0);
    this.#count = 0;
    this.#max = 0;
    this.#overflowSum = 0;
  }

  /** All published values. */
  rollup(): Rollup {
    return {
      mean: this.mean(),
      p95: this.percentile(950),
      p99: this.percentile(990),
      p999: this.percentile(999),
      max: this.#max,
    };
  }

  /** The estimated value that `perMille` (1 to 1000) of a thousand values do not exceed. */
  percentile(perMille: number): number {
    if (this.#count === 0) return 0;
    const target = Math.ceil((this.#count * perMille) / 1000);
    let running = 0;
    for (let bucket = 0; bucket < overflowBucket; bucket++) {
      running += this.#counts[bucket] ?? 0;
      if (running >= target) return Math.min(bucketOffsets[bucket] ?? 0, this.#max);
    }
    return this.#max;
  }

  /** The estimated mean, rounded up. */
  mean(): number {
    if (this.#count === 0) return 0;
    let sum = this.#overflowSum;
    for (let bucket = 0; bucket < overflowBucket; bucket++) {
      sum += (this.#counts[bucket] ?? 0) * (bucketOffsets[bucket] ?? 0);
    }
    return Math.min(Math.ceil(sum / this.#count), this.#max);
  }
}

function makeOffsets(): number[] {
  const offsets = [1];
  for (let last = 1; offsets.length < bucketCount; offsets.push(last)) {
    last = Math.max(Math.floor((last * 6) / 5), last + 1);
  }
  return offsets;
}

function fillCells(): void {
  for (let cell = 0; cell < cellBuckets.length; cell++) {
    const order = cell >>> 3;
    const smallest = Math.ceil(((1 << order) * (8 + (cell & 7))) / 8);
    const beyond = bucketOffsets.findIndex((offset) => offset > smallest);
    const bucket = beyond === -1 ? overflowBucket : Math.max(0, beyond - 1);
    cellBuckets[cell] = bucket;
    cellEnds[cell] = bucketOffsets[bucket + 1] ?? 0xffffffff;
  }
}
