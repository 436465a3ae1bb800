import fc from 'fast-check';
import { expect, it } from 'vitest';

import { TransientMap } from './transient-map.ts';

type Step =
  | { readonly set: number }
  | { readonly add: number }
  | { readonly insert: number }
  | { readonly drop: number }
  | 'clear';

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 10, arbitrary: fc.record({ set: fc.nat(30) }) },
    { weight: 10, arbitrary: fc.record({ add: fc.nat(30) }) },
    { weight: 10, arbitrary: fc.record({ insert: fc.nat(30) }) },
    { weight: 20, arbitrary: fc.record({ drop: fc.nat(30) }) },
    { weight: 1, arbitrary: fc.constant<Step>('clear') },
  ),
  { maxLength: 200 },
);

it('behaves as a Map does', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const map = new TransientMap<number, object>();
      const twin = new Map<number, object>();
      for (const step of all) {
        if (step === 'clear') {
          map.clear();
          twin.clear();
        } else if ('add' in step) {
          expect(map.add(step.add, step)).toBe(!twin.has(step.add));
          if (!twin.has(step.add)) twin.set(step.add, step);
        } else if ('set' in step) {
          map.set(step.set, step);
          twin.set(step.set, step);
        } else if ('insert' in step) {
          if (!twin.has(step.insert)) map.insert(step.insert, step);
          if (!twin.has(step.insert)) twin.set(step.insert, step);
        } else {
          expect(map.delete(step.drop)).toBe(twin.get(step.drop));
          twin.delete(step.drop);
        }
        expect(map.size).toBe(twin.size);
      }
      for (let key = 0; key <= 30; key++) {
        expect(map.get(key)).toBe(twin.get(key));
        expect(map.has(key)).toBe(twin.has(key));
      }
      expect(new Set(map.keys())).toEqual(new Set(twin.keys()));
      expect(new Set(map.values())).toEqual(new Set(twin.values()));
    }),
  );
});

it('keeps insertion order of keys that are never reused, however many were deleted', () => {
  const map = new TransientMap<number, { readonly id: number }>();
  const twin = new Map<number, { readonly id: number }>();
  for (let id = 0; id < 5000; id++) {
    map.set(id, { id });
    twin.set(id, { id });
    if (id % 7 !== 0 || id < 700) continue;
    for (let old = id - 700; old < id - 1; old++) {
      map.delete(old);
      twin.delete(old);
    }
  }
  expect(map.size).toBe(twin.size);
  expect(map.keys()).toEqual([...twin.keys()]);
  expect(map.values()).toEqual([...twin.values()]);
});
