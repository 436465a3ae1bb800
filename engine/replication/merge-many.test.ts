/** How the ends of merges travel. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { BytesError } from '../base/bytes.ts';
import type { Merged } from './merge-many.ts';
import { areAllSole, decodeEnds, MergeEnds, soleEnd, writtenEnd } from './merge-many.ts';

const end = fc.oneof(
  fc.constant(soleEnd),
  fc.constant(writtenEnd),
  fc.record({
    kind: fc.constant('failed' as const),
    code: fc.constantFrom('StorageFailed' as const, 'Overloaded' as const),
    detail: fc.string({ maxLength: 20 }),
  }),
);

test('ends arrive as they were noted, in whatever order the merges ended', () => {
  fc.assert(
    fc.property(fc.array(end, { minLength: 1, maxLength: 20 }), fc.boolean(), (ends, backwards) => {
      const collected = new MergeEnds(ends.length);
      const order = [...ends.keys()];
      if (backwards) order.reverse();
      const last = order.map((index) => collected.note(index, ends[index] as Merged));
      expect(last.indexOf(true)).toBe(ends.length - 1);
      const words = Buffer.from(collected.encode());
      expect(decodeEnds(words, ends.length)).toEqual(ends);
      expect(areAllSole(words, ends.length)).toBe(ends.every((one) => one === soleEnd));
    }),
  );
});

test('an answer of another length, or with an unknown end, does not decode', () => {
  for (const bytes of [[], [2], [2, 2, 2], [2, 3], [0, 2], [2, 0, 1]])
    expect(() => decodeEnds(Buffer.from(bytes), 2)).toThrow(BytesError);
});
