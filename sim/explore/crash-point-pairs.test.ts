import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { allCrashPoints, describePoint } from './crash-points.ts';
import { pairsOf, sampleOf } from './crash-point-pairs.ts';

describe('pairs of crash points', () => {
  it('are every two, but for two strikes at one step of one branch', () => {
    const points = allCrashPoints();
    const pairs = pairsOf(points);
    const places = points.length / 4;
    expect(pairs).toHaveLength((points.length * (points.length - 1)) / 2 - places * 6);
    const names = new Set(pairs.map((pair) => pair.map(describePoint).toSorted().join(' + ')));
    expect(names.size).toBe(pairs.length);
  });

  it('are sampled in order, without repetition, the same for the same seed', () => {
    const cases = fc.tuple(fc.nat(60), fc.nat(80), fc.nat());
    fc.assert(
      fc.property(cases, ([count, wanted, seed]) => {
        const all = Array.from({ length: count }, (_, index) => index);
        const sample = sampleOf(all, wanted, seed);
        expect(sample).toHaveLength(Math.min(count, wanted));
        expect([...new Set(sample)].toSorted((left, right) => left - right)).toEqual(sample);
        expect(sampleOf(all, wanted, seed)).toEqual(sample);
      }),
    );
  });
});
