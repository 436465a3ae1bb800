import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { EstimatedHistogram, bucketCount, bucketOf, bucketOffsets } from './histogram.ts';
import { RollingHistogram } from './rolling-histogram.ts';

/** The published offsets of Dynomite's dyn_histogram.c. */
const golden =
  '1 2 3 4 5 6 7 8 9 10 12 14 16 19 22 26 31 37 44 52 62 74 88 105 126 151 181 217 260 312 374 448 537 644 772 926 ' +
  '1111 1333 1599 1918 2301 2761 3313 3975 4770 5724 6868 8241 9889 11866 14239 17086 20503 24603 29523 35427 42512 ' +
  '51014 61216 73459 88150 105780 126936 152323 182787 219344 263212 315854 379024 454828 545793 654951 785941 943129 ' +
  '1131754 1358104 1629724 1955668 2346801 2816161 3379393 4055271 4866325 5839590 7007508 8409009 10090810 12108972 ' +
  '14530766 17436919 20924302 25109162 30130994 36157192';

const last = 36157192;

/** The offset of the bucket of a value, found by a search. */
function estimate(value: number): number {
  return bucketOffsets.findLast((offset) => offset <= value) ?? 1;
}

function twinPercentile(values: readonly number[], perMille: number): number {
  if (values.length === 0) return 0;
  const sorted = values.toSorted((left, right) => left - right);
  const max = sorted.at(-1) ?? 0;
  const rank = Math.floor((values.length * perMille + 999) / 1000);
  const value = sorted[rank - 1] ?? 0;
  return value >= last ? max : Math.min(estimate(value), max);
}

function twinMean(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sum = values.reduce((total, value) => total + (value >= last ? value : estimate(value)), 0);
  return Math.min(Math.ceil(sum / values.length), Math.max(...values));
}

function histogramOf(values: readonly number[]): EstimatedHistogram {
  const histogram = new EstimatedHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

const anyValue = fc.oneof(
  fc.nat(30),
  fc.nat(100_000),
  fc.nat(100_000_000),
  fc.nat({ max: Number.MAX_SAFE_INTEGER }).map((value) => Math.floor(value / 1000)),
  fc.constantFrom(...bucketOffsets).chain((offset) => fc.constantFrom(offset - 1, offset, offset + 1)),
);
const anyValues = fc.array(anyValue, { maxLength: 300 });

describe('buckets', () => {
  it('have the published offsets', () => {
    expect(bucketCount).toBe(94);
    expect(bucketOffsets.join(' ')).toBe(golden);
  });

  it('hold the values from their offset up to the next one', () => {
    expect(bucketOf(0)).toBe(0);
    bucketOffsets.forEach((offset, bucket) => {
      expect(bucketOf(offset)).toBe(bucket);
      if (bucket > 0) expect(bucketOf(offset - 1)).toBe(bucket - 1);
    });
    for (let value = 1; value < 70_000; value++) expect(bucketOffsets[bucketOf(value)]).toBe(estimate(value));
  });

  it('are those that a search through the offsets finds', () => {
    fc.assert(fc.property(anyValue, (value) => bucketOffsets[bucketOf(value)] === estimate(value)));
  });
});

describe('an estimated histogram', () => {
  it('agrees with a model that keeps every value', () => {
    fc.assert(
      fc.property(anyValues, (values) => {
        const histogram = histogramOf(values);
        expect(histogram.count).toBe(values.length);
        expect(histogram.rollup()).toEqual({
          mean: twinMean(values),
          p95: twinPercentile(values, 950),
          p99: twinPercentile(values, 990),
          p999: twinPercentile(values, 999),
          max: Math.max(0, ...values),
        });
      }),
    );
  });

  it('orders its rollups: percentiles do not decrease, and the mean is within the bounds they imply', () => {
    fc.assert(
      fc.property(anyValues, (values) => {
        const { mean, p95, p99, p999, max } = histogramOf(values).rollup();
        expect(p95).toBeLessThanOrEqual(p99);
        expect(p99).toBeLessThanOrEqual(p999);
        expect(p999).toBeLessThanOrEqual(max);
        expect(mean).toBeLessThanOrEqual(max);
        for (const [percentile, perMille] of [
          [p95, 950],
          [p99, 990],
          [p999, 999],
        ] as const) {
          const above = (1000 - perMille) / 1000;
          // The mean is rounded up, and the sum of two products may be slightly above the exact value.
          expect(mean).toBeLessThanOrEqual(
            Math.ceil((1 - above) * percentile + above * max) * (1 + 1e-9) + 1,
          );
          expect(mean).toBeGreaterThanOrEqual(Math.floor(above * percentile * (1 - 1e-9)));
          if (values.length * above < 1) expect(mean).toBeLessThanOrEqual(percentile);
        }
      }),
    );
  });

  it('returns the larger of two values as their 99.9th percentile, never less than the mean', () => {
    expect(histogramOf([51_020, 98_749]).rollup()).toEqual({
      mean: 69_582,
      p95: 88_150,
      p99: 88_150,
      p999: 88_150,
      max: 98_749,
    });
    expect(histogramOf([1, 3]).rollup()).toEqual({ mean: 2, p95: 3, p99: 3, p999: 3, max: 3 });
  });

  it('is within a bucket of the exact percentile for latencies', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 10, max: last - 1 }), { minLength: 1 }), (values) => {
        const sorted = values.toSorted((left, right) => left - right);
        const exact = sorted[Math.ceil((values.length * 99) / 100) - 1] ?? 0;
        const estimated = histogramOf(values).percentile(990);
        expect(estimated).toBeLessThanOrEqual(exact);
        expect(estimated * 1.21 + 1).toBeGreaterThan(exact);
      }),
    );
  });

  it('is all zeros while empty', () => {
    const zeros = { mean: 0, p95: 0, p99: 0, p999: 0, max: 0 };
    expect(new EstimatedHistogram().rollup()).toEqual(zeros);
    expect(histogramOf([0, 0, 0]).rollup()).toEqual(zeros);
  });

  it('returns a single value that is an offset exactly', () => {
    expect(histogramOf([5724]).rollup()).toEqual({ mean: 5724, p95: 5724, p99: 5724, p999: 5724, max: 5724 });
  });

  it('returns the true maximum beyond its last offset, never a sentinel', () => {
    const huge = Number.MAX_SAFE_INTEGER;
    expect(histogramOf([last - 1]).rollup().p99).toBe(30130994);
    expect(histogramOf([last, 40_000_000]).percentile(990)).toBe(40_000_000);
    expect(histogramOf([huge]).rollup()).toEqual({ mean: huge, p95: huge, p99: huge, p999: huge, max: huge });
  });

  it('refuses values that are not whole numbers', () => {
    for (const wrong of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
      expect(() => histogramOf([wrong])).toThrow('whole numbers from 0');
    }
  });
});

describe('a rolling histogram', () => {
  it('covers the values recorded since the turn before the last one', () => {
    const step = fc.oneof(
      { weight: 8, arbitrary: anyValue },
      { weight: 1, arbitrary: fc.constant('turn' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const rolling = new RollingHistogram();
        let previous: number[] = [];
        let current: number[] = [];
        for (const next of steps) {
          if (next === 'turn') {
            rolling.turn();
            previous = current;
            current = [];
          } else {
            rolling.record(next);
            current.push(next);
          }
          const both = histogramOf([...previous, ...current]);
          expect(rolling.count).toBe(both.count);
          expect(rolling.rollup()).toEqual(both.rollup());
        }
      }),
      { numRuns: 50 },
    );
  });
});
