import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Actor, Dot } from '../replica/object/dots.ts';
import { contextTagOf, makeKey, vtagOf } from './tags.ts';
import { CountingRandom } from './testing/test-io.fixture.ts';

const dot: fc.Arbitrary<Dot> = fc.record({
  actor: fc.string({ minLength: 1, maxLength: 12 }).map((text) => text as Actor),
  counter: fc.integer({ min: 1, max: 1_000_000 }),
});

test('each version has a unique tag of twelve digits and letters', () => {
  const seen = new Map<string, string>();
  fc.assert(
    fc.property(dot, (one) => {
      const tag = vtagOf(one);
      expect(tag).toMatch(/^[0-9A-Za-z]{12}$/);
      const name = `${one.counter}:${one.actor}`;
      expect(seen.get(tag) ?? name).toBe(name);
      seen.set(tag, name);
    }),
    { numRuns: 1000 },
  );
});

test('the tag of an object with siblings differs from that of each sibling', () => {
  fc.assert(
    fc.property(fc.array(dot, { minLength: 1, maxLength: 4 }), (context) => {
      const ofForms = [contextTagOf(context, 'list'), contextTagOf(context, 'parts')];
      expect(new Set([...context.map(vtagOf), ...ofForms]).size).toBe(new Set(context.map(vtagOf)).size + 2);
    }),
  );
});

test('server-made keys are unique, need no quoting, and use all 128 random bits', () => {
  const random = new CountingRandom();
  const keys = Array.from({ length: 100 }, () => makeKey(random));
  expect(new Set(keys).size).toBe(100);
  for (const key of keys) expect(key).toMatch(/^[0-9A-Za-z]{24}$/);
  expect(random.u32()).toBe(401);
});
