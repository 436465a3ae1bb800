import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { viewOf } from '../../base/views.ts';
import { KeyDirectory } from './key-directory.ts';
import { ValueCache } from './value-cache.ts';

const cacheBytes = 16 * 1024;

/** A directory with `count` keys, whose ids are returned in order. */
function keysIn(directory: KeyDirectory, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => {
    const bytes = Buffer.from(`key ${index}`, 'latin1');
    const id = directory.add(
      directory.hashBytes(bytes, 0, bytes.length),
      bytes,
      viewOf(bytes),
      0,
      bytes.length,
      index,
    );
    directory.place(id, 1, 0, 0, index + 1, 'live');
    return id;
  });
}

describe('the value cache', () => {
  it('returns the last value put, or nothing', () => {
    // Chunks without views are reused in place, so not every put is followed by a read.
    const look = fc.integer({ min: 0, max: 9 }).map((draw) => draw === 0);
    const step = fc.tuple(fc.nat(29), fc.nat(1500), fc.nat(255), look);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const directory = new KeyDirectory(1);
        const cache = new ValueCache(directory, cacheBytes);
        const ids = keysIn(directory, 30);
        const twin = new Map<number, Buffer>();
        for (const [index, length, fill, looks] of steps) {
          const id = ids[index] ?? 0;
          const value = Buffer.alloc(length, fill);
          cache.put(id, viewOf(value), 0, length);
          twin.set(id, value);
          for (const [other, expected] of looks ? twin : []) {
            const found = cache.get(other);
            if (found !== undefined) expect(found.equals(expected)).toBe(true);
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  it('stays within its bytes', () => {
    const directory = new KeyDirectory(1);
    const cache = new ValueCache(directory, cacheBytes);
    for (const id of keysIn(directory, 1000)) cache.put(id, viewOf(Buffer.alloc(200)), 0, 200);
    expect(cache.bytes).toBeLessThanOrEqual(cacheBytes);
  });

  it('takes no memory for values that were replaced, and loses none that is in use', () => {
    const directory = new KeyDirectory(1);
    const cache = new ValueCache(directory, 64 * 1024 * 1024);
    const ids = keysIn(directory, 1000);
    const values = new Map<number, Buffer>();
    const isHeld = (id: number): boolean => {
      const [found, value] = [cache.get(id), values.get(id)];
      return found !== undefined && value !== undefined && found.equals(value);
    };
    for (let round = 0; round < 60; round++) {
      for (const [index, id] of ids.entries()) {
        const value = Buffer.alloc(index % 500, (round + index) % 256);
        cache.put(id, viewOf(value), 0, value.length);
        values.set(id, value);
      }
      // Some chunks hand out views, others do not.
      const lost = (): boolean => ids.some((id) => !isHeld(id));
      if (round % 3 === 0) expect([round, lost()]).toEqual([round, false]);
    }
    expect(cache.bytes).toBeLessThanOrEqual(5 * 1024 * 1024);
    expect(cache.bytes).toBeGreaterThan(4 * 1024 * 1024);
  });

  it('retains values that are read often', () => {
    const directory = new KeyDirectory(1);
    const cache = new ValueCache(directory, cacheBytes);
    const [hot = 0, ...others] = keysIn(directory, 2000);
    cache.put(hot, viewOf(Buffer.from('hot')), 0, 3);
    for (const id of others) {
      cache.put(id, viewOf(Buffer.alloc(40)), 0, 40);
      expect(cache.get(hot)?.toString()).toBe('hot');
    }
  });

  it('never changes a view that it returned', () => {
    const directory = new KeyDirectory(1);
    const cache = new ValueCache(directory, cacheBytes);
    const [first = 0, ...others] = keysIn(directory, 2000);
    cache.put(first, viewOf(Buffer.from('first')), 0, 5);
    const view = cache.get(first);
    for (const id of others) cache.put(id, viewOf(Buffer.alloc(40, 1)), 0, 40);
    expect(view?.toString()).toBe('first');
  });

  it('drops a key whose id was given to another', () => {
    const directory = new KeyDirectory(1);
    const cache = new ValueCache(directory, cacheBytes);
    const [id = 0] = keysIn(directory, 1);
    cache.put(id, viewOf(Buffer.from('old')), 0, 3);
    directory.remove(id);
    const bytes = Buffer.from('another');
    const again = directory.add(directory.hashBytes(bytes, 0, 7), bytes, viewOf(bytes), 0, 7, 0);
    expect(cache.get(again)).toBeUndefined();
  });
});
