import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { Token } from '../../base/ids.ts';
import { tokenMax } from '../../base/ids.ts';
import { distance, isWithin } from './arc.ts';

const token = fc.integer({ min: 0, max: tokenMax }) as fc.Arbitrary<Token>;
const near = fc.integer({ min: 0, max: 8 }) as fc.Arbitrary<Token>;
const any = fc.oneof(token, near, fc.constant(tokenMax as Token));

test('a distance leads from one token to the other; from a token to itself it is a whole turn', () => {
  fc.assert(
    fc.property(any, any, (from, to) => {
      const far = distance(from, to);
      expect(far >= 1 && far <= 2 ** 32).toBe(true);
      expect((from + far) % 2 ** 32).toBe(to);
    }),
  );
  expect(distance(7 as Token, 7 as Token)).toBe(2 ** 32);
});

test('two arcs that meet at both ends include every token once', () => {
  fc.assert(
    fc.property(any, any, any, (from, to, at) => {
      fc.pre(from !== to);
      const held = [isWithin({ from, to }, at), isWithin({ from: to, to: from }, at)];
      expect(held.filter(Boolean)).toHaveLength(1);
    }),
  );
});

test('an arc includes its end and not its beginning, and the whole ring includes every token', () => {
  expect(isWithin({ from: 3 as Token, to: 9 as Token }, 9 as Token)).toBe(true);
  expect(isWithin({ from: 3 as Token, to: 9 as Token }, 3 as Token)).toBe(false);
  expect(isWithin({ from: 3 as Token, to: 3 as Token }, 3 as Token)).toBe(true);
});
