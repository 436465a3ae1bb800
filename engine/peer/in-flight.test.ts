import fc from 'fast-check';
import { expect, it } from 'vitest';

import { InFlight } from './in-flight.ts';

/** `end`: the request at that position of those under way ends; `skip`: that many ids are not used here. */
type Step = 'begin' | 'clear' | { readonly end: number } | { readonly skip: number };

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 45, arbitrary: fc.constant<Step>('begin') },
    { weight: 20, arbitrary: fc.record({ end: fc.nat(300) }) },
    { weight: 3, arbitrary: fc.record({ skip: fc.nat(200) }) },
    { weight: 1, arbitrary: fc.constant<Step>('clear') },
  ),
  { maxLength: 400, size: 'max' },
);

it('behaves as a Map does whose entries keep their order, also where ids begin again', () => {
  fc.assert(
    fc.property(fc.constantFrom<number>(1, 0xffff_ff80), steps, (first, all) => {
      const inFlight = new InFlight<{ readonly id: number }>();
      const twin = new Map<number, { readonly id: number }>();
      let id = first;
      for (const step of all) {
        if (step === 'begin') {
          const one = { id };
          inFlight.add(one);
          twin.set(id, one);
          id = id === 0xffff_ffff ? 1 : id + 1;
        } else if (step === 'clear') {
          inFlight.clear();
          twin.clear();
        } else if ('skip' in step) {
          id = id + step.skip > 0xffff_ffff ? 1 : id + step.skip;
        } else {
          const ended = [...twin.keys()][step.end % Math.max(1, twin.size)] ?? id;
          expect(inFlight.get(ended)).toBe(twin.get(ended));
          expect(inFlight.delete(ended)).toBe(twin.get(ended));
          twin.delete(ended);
          expect(inFlight.get(ended)).toBe(undefined);
        }
        expect(inFlight.size).toBe(twin.size);
      }
      expect(inFlight.values()).toEqual([...twin.values()]);
      for (const [known, one] of twin) expect(inFlight.get(known)).toBe(one);
    }),
    { numRuns: 20 },
  );
});

it('keeps a request that outlasts thousands of later ones, without a table of their number', () => {
  const inFlight = new InFlight<{ readonly id: number }>();
  const slow = { id: 5 };
  inFlight.add(slow);
  for (let id = 6; id < 10_000; id++) {
    inFlight.add({ id });
    expect(inFlight.delete(id)?.id).toBe(id);
  }
  expect(inFlight.get(5)).toBe(slow);
  expect(inFlight.values()).toEqual([slow]);
});

it('refuses an id that is under way', () => {
  const inFlight = new InFlight<{ readonly id: number }>();
  inFlight.add({ id: 7 });
  expect(() => inFlight.add({ id: 7 })).toThrow('unique');
});
