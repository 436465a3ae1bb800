/** Sorting in parts gives what `Array.sort` gives. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { sortInParts } from './sort-in-parts.ts';

test('items are sorted as at once, with pauses in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(20), { maxLength: 40 }),
      fc.integer({ min: 1, max: 9 }),
      async (list, part) => {
        const items = list.map((value, place) => ({ value, place }));
        const compare = (left: { value: number }, right: { value: number }): number =>
          left.value - right.value;
        let pauses = 0;
        const pause = (): Promise<void> => {
          pauses += 1;
          return Promise.resolve();
        };
        const expected = items.toSorted(compare);
        expect(await sortInParts(items, compare, part, pause)).toEqual(expected);
        if (list.length > part) expect(pauses).toBeGreaterThanOrEqual(Math.floor(list.length / part));
      },
    ),
  );
});
