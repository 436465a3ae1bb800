import fc from 'fast-check';
import { expect, it } from 'vitest';

import { copyBytes, sameBytes, viewOf } from './views.ts';

it('a copy through views equals the source, whatever its length and offsets, and touches nothing else', () => {
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

it('ranges are equal when no byte differs', () => {
  const bytes = fc.uint8Array({ maxLength: 40 });
  fc.assert(
    fc.property(bytes, fc.nat(20), fc.nat(60), (run, place, changed) => {
      const other = Buffer.alloc(place + run.length, 7);
      other.set(run, place);
      expect(sameBytes(viewOf(run), 0, viewOf(other), place, run.length)).toBe(true);
      if (changed >= run.length) return;
      other[place + changed] = (run[changed] ?? 0) ^ 1;
      expect(sameBytes(viewOf(run), 0, viewOf(other), place, run.length)).toBe(false);
    }),
  );
});
