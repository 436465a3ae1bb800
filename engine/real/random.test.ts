import { describe, expect, it } from 'vitest';
import { AssertionError } from '../base/assert.ts';
import { RealRandom } from './random.ts';

describe('the random port on a machine', () => {
  it('draws are whole numbers within their bounds, and spread over them', () => {
    const random = new RealRandom();
    for (const bound of [1, 2, 3, 10, 1000, 0x80000001, 0x100000000]) {
      const draws = Array.from({ length: 2000 }, () => random.below(bound));
      expect(draws.every((draw) => Number.isInteger(draw) && draw >= 0 && draw < bound)).toBe(true);
      // The chance that 2000 fair draws miss one half of the range is 2^-2000.
      if (bound > 1)
        expect(draws.some((draw) => draw < bound / 2) && draws.some((draw) => draw >= bound / 2)).toBe(true);
    }
    expect(
      Array.from({ length: 100 }, () => random.u32()).every((draw) => draw >= 0 && draw <= 0xffffffff),
    ).toBe(true);
  });

  it('an invalid bound fails an assertion', () => {
    const random = new RealRandom();
    for (const bound of [0, -1, 1.5, 0x100000001, Number.NaN])
      expect(() => random.below(bound)).toThrow(AssertionError);
  });

  it('chances of 0 and 1 are allowed', () => {
    const random = new RealRandom();
    for (let draw = 0; draw < 1000; draw++) {
      expect(random.chance(0, 7)).toBe(false);
      expect(random.chance(7, 7)).toBe(true);
    }
  });

  it('forks and their parent draw independently', () => {
    const random = new RealRandom();
    const streams = [random, random.fork('disk'), random.fork('disk'), random.fork('network')];
    const draws = streams.map((stream) => Array.from({ length: 4 }, () => stream.u32()).join());
    expect(new Set(draws).size).toBe(4);
    expect(random.bytes(32)).toHaveLength(32);
    expect(random.bytes(32)).not.toEqual(random.bytes(32));
  });
});
