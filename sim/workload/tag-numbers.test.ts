import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { TagNumbers } from './tag-numbers.ts';

describe('numbers of runs of bytes', () => {
  it('equal those that a Map of strings assigns', () => {
    const runs = fc.array(fc.uint8Array({ maxLength: 3, max: 3 }), { maxLength: 200 });
    const property = fc.property(runs, (list) => {
      const numbers = new TagNumbers();
      const known = new Map<string, number>();
      for (const run of list) {
        const text = run.join();
        expect(numbers.find(run)).toBe(known.get(text) ?? -1);
        if (!known.has(text)) known.set(text, known.size);
        const around = Uint8Array.of(9, ...run, 9);
        expect(numbers.of(around, 1, 1 + run.length)).toBe(known.get(text));
        expect(numbers.find(run)).toBe(known.get(text));
      }
    });
    fc.assert(property, { numRuns: 200, seed: 1 });
  });

  it('stay the same when the table grows', () => {
    const numbers = new TagNumbers();
    const bytesOf = (number: number): Buffer => Buffer.from(`«w:c${number % 7}:${number}»`);
    const count = 5000;
    for (let number = 0; number < count; number++) {
      const bytes = bytesOf(number);
      expect(numbers.of(bytes, 0, bytes.length)).toBe(number);
    }
    for (let number = 0; number < count; number++) expect(numbers.find(bytesOf(number))).toBe(number);
    expect(numbers.find(bytesOf(count))).toBe(-1);
  });
});
