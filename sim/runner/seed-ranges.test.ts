import fc from 'fast-check';
import { expect, it } from 'vitest';

import { commonSeed, SeedRanges } from './seed-ranges.ts';

const step = fc.integer({ min: 1, max: 4 });
const indices = fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 40 });

it('a set of seeds holds what was added to it, in as few ranges as there are', () => {
  fc.assert(
    fc.property(step, indices, (apart, added) => {
      const ranges = new SeedRanges(apart);
      const seeds = new Set(added.map((index) => 7 + index * apart));
      for (const index of added) ranges.add(7 + index * apart);
      for (let seed = 0; seed < 140; seed++) expect(ranges.has(seed)).toBe(seeds.has(seed));
      const starts = [...seeds].filter((seed) => !seeds.has(seed - apart));
      expect(ranges.ranges).toHaveLength(starts.length);
      expect(new SeedRanges(apart, ranges.ranges).ranges).toEqual(ranges.ranges);
    }),
  );
});

it('finds a seed that two sets share, and none where they share none', () => {
  fc.assert(
    fc.property(step, indices, indices, fc.integer({ min: 0, max: 3 }), (apart, left, right, offset) => {
      const [one, other] = [new SeedRanges(apart), new SeedRanges(apart)];
      for (const index of left) one.add(index * apart);
      for (const index of right) other.add(index * apart + offset);
      const both = commonSeed(one.ranges, other.ranges, apart);
      const shared = left.some((index) => other.has(index * apart));
      expect(both !== undefined).toBe(shared);
      if (both !== undefined) expect([one.has(both), other.has(both)]).toEqual([true, true]);
    }),
  );
});
