import fc from 'fast-check';
import { expect, test } from 'vitest';

import { Latencies } from './latencies.ts';

test('a percentile is at most one per cent above the true one, and never below', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 3_000_000_000 }), { minLength: 1, maxLength: 200 }),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (values, part) => {
        const latencies = new Latencies();
        for (const value of values) latencies.add(value);
        const sorted = values.toSorted((left, right) => left - right);
        const truth = sorted[Math.ceil(values.length * part) - 1] ?? 0;
        const found = latencies.percentile(part);
        expect(found).toBeGreaterThanOrEqual(truth * 0.999 - 1);
        expect(found).toBeLessThanOrEqual(truth * 1.011 + 1);
      },
    ),
    { numRuns: 100 },
  );
});
