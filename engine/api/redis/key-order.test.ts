import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PackedKey } from '../../base/object-key.ts';
import type { Ordered, Way } from './key-order.ts';
import { KeyOrder } from './key-order.ts';

class Named implements Ordered {
  readonly keys: readonly PackedKey[];
  readonly way: Way;
  readonly name: number;
  blockedCount = 0;

  constructor(name: number, keys: readonly string[], way: Way) {
    this.name = name;
    this.keys = keys.map((key) => key as PackedKey);
    this.way = way;
  }
}

const given = fc.record({
  keys: fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 }),
  way: fc.constantFrom<Way>('read', 'turn', 'batch'),
});

test('commands on a key start in their order, run together only if they go the same way, and all run', () => {
  fc.assert(
    fc.property(fc.array(given, { maxLength: 30 }), fc.infiniteStream(fc.nat()), (rows, choices) => {
      const running: Named[] = [];
      const started: Named[] = [];
      const order = new KeyOrder<Named>((one) => {
        for (const other of running) {
          const shared = other.keys.some((key) => one.keys.includes(key));
          expect(!shared || (other.way === one.way && one.way !== 'batch')).toBe(true);
        }
        running.push(one);
        started.push(one);
      });
      const end = (): void => {
        const [one] = running.splice((choices.next().value ?? 0) % running.length, 1);
        if (one !== undefined) order.done(one);
      };
      rows.forEach(({ keys, way }, name) => {
        order.add(new Named(name, way === 'turn' ? keys.slice(0, 1) : keys, way));
        if (running.length > 0 && (choices.next().value ?? 0) % 3 === 0) end();
      });
      while (running.length > 0) end();
      expect(started).toHaveLength(rows.length);
      for (const key of ['a', 'b', 'c'] as PackedKey[]) {
        const ones = started.filter(({ keys }) => keys.includes(key));
        const late = ones.filter((one, index) =>
          ones
            .slice(0, index)
            .some(({ name, way }) => name > one.name && (way !== one.way || way === 'batch')),
        );
        expect(late).toEqual([]);
        expect(order.lastWay(key)).toBe(undefined);
      }
    }),
    { numRuns: 200 },
  );
});

test('a command waits for those on its own keys alone', () => {
  const started: number[] = [];
  const order = new KeyOrder<Named>(({ name }) => started.push(name));
  const first = new Named(1, ['a'], 'batch');
  for (const one of [first, new Named(2, ['a', 'b'], 'read'), new Named(3, ['c'], 'turn')]) order.add(one);
  order.add(new Named(4, ['b'], 'turn'));
  expect(started).toEqual([1, 3]);
  order.done(first);
  expect(started).toEqual([1, 3, 2]);
});
