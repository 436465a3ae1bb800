import { describe, expect, it } from 'vitest';

import { planLimits } from '../plan/plan-limits.ts';
import { WorldRandom } from '../world/core/random.ts';
import { instantBefore } from './samples.ts';

/** So many instants of a storm of that length. */
function instants(endUs: number, count: number): readonly number[] {
  const random = WorldRandom.root('looks');
  return Array.from({ length: count }, () => instantBefore(random, endUs));
}

describe('an instant of the storm', () => {
  it.each([1, 2, 2 ** 32, 2 ** 32 + 1, 5_000_000_000, planLimits.durationUsMax])(
    'is within it, however long a plan allows it to be: %i us',
    (endUs) => {
      for (const us of instants(endUs, 1000)) {
        expect(Number.isSafeInteger(us)).toBe(true);
        expect(us).toBeGreaterThanOrEqual(0);
        expect(us).toBeLessThan(endUs);
      }
    },
  );

  it('falls into every part of a day alike', () => {
    const parts = Array.from({ length: 24 }, () => 0);
    for (const us of instants(planLimits.durationUsMax, 24_000)) {
      const part = Math.floor((us / planLimits.durationUsMax) * 24);
      parts[part] = (parts[part] ?? 0) + 1;
    }
    expect(Math.min(...parts)).toBeGreaterThan(850);
    expect(Math.max(...parts)).toBeLessThan(1150);
  });
});
