import fc from 'fast-check';
import { expect, it } from 'vitest';

import type { NodeId } from '../base/ids.ts';
import { RepeatedWrites } from './repeated-writes.ts';

const n1 = 'n1' as NodeId;
const n2 = 'n2' as NodeId;

function asked(number: number, life = 5): { life: number; number: number; heardLife: number } {
  return { life, number, heardLife: 0 };
}

it('each number counts once per asker, in any order within the window', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 60_000 }), { maxLength: 200 }), (numbers) => {
      const writes = new RepeatedWrites();
      const come = new Set<number>();
      for (const number of numbers) {
        expect(writes.isRepeated(n1, asked(number))).toBe(come.has(number));
        come.add(number);
      }
      for (const number of come) expect(writes.isRepeated(n2, asked(number))).toBe(false);
    }),
  );
});

it('what is older than the window, or of an earlier incarnation, counts as repeated', () => {
  const writes = new RepeatedWrites();
  expect(writes.isRepeated(n1, asked(1))).toBe(false);
  expect(writes.isRepeated(n1, asked(65_538))).toBe(false);
  expect(writes.isRepeated(n1, asked(2))).toBe(true);
  expect(writes.isRepeated(n1, asked(3))).toBe(false);
  // A far jump forgets what came before it, which is then too old.
  expect(writes.isRepeated(n1, asked(400_000))).toBe(false);
  expect(writes.isRepeated(n1, asked(65_538))).toBe(true);
  expect(writes.isRepeated(n1, asked(399_999))).toBe(false);
  expect(writes.isRepeated(n1, asked(1, 6))).toBe(false);
  expect(writes.isRepeated(n1, asked(400_001, 5))).toBe(true);
  expect(writes.isRepeated(n1, asked(1, 6))).toBe(true);
});
