/**
 * How long things take: a minimum, an exponential part above it, and a rare long tail. All arithmetic is in integers
 * over a table, so that a draw is the same on every build (Math.log is not).
 */
import type { Random } from '../../../engine/io/random.ts';

/** A distribution of durations, in whole microseconds. */
export interface Latency {
  /** The minimum. */
  readonly minUs: number;
  /** Mean of the exponential part, above the minimum. */
  readonly meanUs: number;
  /** One draw in `tailOneIn` takes up to `tailUs` longer; 0 for never. */
  readonly tailOneIn: number;
  readonly tailUs: number;
}

const tableBits = 10;
const tableSize = 1 << tableBits;
const tableScale = 1 << 16;
const exponentialTable = makeExponentialTable();

/** Always exactly `us`. */
export function constantLatency(us: number): Latency {
  return { minUs: us, meanUs: 0, tailOneIn: 0, tailUs: 0 };
}

/** A minimum with an exponential part above it, without a tail. */
export function exponentialLatency(minUs: number, meanUs: number): Latency {
  return { minUs, meanUs, tailOneIn: 0, tailUs: 0 };
}

/** Draws a duration, a whole number of microseconds. */
export function drawLatency(random: Random, latency: Latency): number {
  const { minUs, meanUs, tailOneIn, tailUs } = latency;
  let us = minUs;
  if (meanUs > 0) us += drawExponential(random, meanUs);
  if (tailOneIn > 0 && random.below(tailOneIn) === 0) us += random.below(tailUs + 1);
  return us;
}

/** A whole number with the given mean, exponentially distributed, at most about 7.6 times the mean. */
export function drawExponential(random: Random, mean: number): number {
  const row = exponentialTable[random.u32() >>> (32 - tableBits)] ?? tableScale;
  return Math.floor((mean * row) / tableScale);
}

/** -ln of the middles of `tableSize` equal parts of 0..1, scaled to a mean of `tableScale` (up to rounding). */
function makeExponentialTable(): Uint32Array {
  const rows = Array.from({ length: tableSize }, (_, index) => minusLog((index + 0.5) / tableSize));
  const mean = rows.reduce((sum, row) => sum + row, 0) / tableSize;
  return Uint32Array.from(rows, (row) => Math.round((row / mean) * tableScale));
}

/** -ln(x) for 0 < x <= 1 by halving and the area-tangent series: only operations that IEEE 754 defines exactly. */
function minusLog(x: number): number {
  const ln2 = 0.6931471805599453;
  let scaled = x;
  let halvings = 0;
  while (scaled < 0.5) {
    scaled *= 2;
    halvings += 1;
  }
  const ratio = (1 - scaled) / (1 + scaled);
  let power = ratio;
  let sum = 0;
  for (let odd = 1; odd < 40; odd += 2) {
    sum += power / odd;
    power *= ratio * ratio;
  }
  return 2 * sum + halvings * ln2;
}
