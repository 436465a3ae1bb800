import fc from 'fast-check';
import { expect, it } from 'vitest';

import { RecentMap } from './recent-map.ts';

const operation = fc.record({
  kind: fc.constantFrom('set', 'set', 'set', 'delete'),
  key: fc.nat({ max: 12 }),
});

it('a recent map holds at least the newest half of its bound, at most its bound, and the latest values', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 9 }), fc.array(operation, { maxLength: 60 }), (countMax, steps) => {
      const map = new RecentMap<number, number>(countMax);
      /** Every key that was set and not deleted since, the newest last. */
      const all = new Map<number, number>();
      steps.forEach(({ kind, key }, index) => {
        all.delete(key);
        if (kind === 'delete') map.delete(key);
        else {
          map.set(key, index);
          all.set(key, index);
        }
        expect(map.size).toBeLessThanOrEqual(countMax);
        const newest = [...all].slice(-Math.floor(countMax / 2));
        for (const [one, value] of newest) expect(map.get(one)).toBe(value);
        for (let one = 0; one <= 12; one++) {
          expect(map.has(one)).toBe(map.get(one) !== undefined);
          if (map.has(one)) expect(map.get(one)).toBe(all.get(one));
        }
      });
    }),
  );
});
