import fc from 'fast-check';
import { expect, it } from 'vitest';

import { copyBytes, viewOf } from './views.ts';

it('a copy by views is the copy, whatever its length and places, and touches nothing else', () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 600 });
  fc.assert(
    fc.property(bytes, fc.nat(20), fc.nat(20), (from, skipped, place) => {
      const at = Math.min(skipped, from.length);
      const length = from.length - at;
      const expected = Buffer.alloc(place + length + 8, 7);
      expected.set(from.subarray(at), place);
      const into = Buffer.alloc(place + length + 8, 7);
      copyBytes(viewOf(from), at, length, viewOf(into), place);
      expect(into.equals(expected)).toBe(true);
    }),
  );
});
