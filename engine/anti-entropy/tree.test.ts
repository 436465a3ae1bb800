import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { RangeHash, TokenRange } from './tree.ts';
import {
  Tree,
  addHashes,
  divide,
  fanout,
  isLeafRange,
  nothing,
  sameHash,
  wholeRing,
  segmentBitsMax,
  segmentBitsMin,
} from './tree.ts';

const token = fc.integer({ min: 0, max: 0xffffffff });
const hash = fc.record({ high: token, low: token });
const bits = fc.integer({ min: 4, max: 12 });
const range = fc
  .tuple(token, token)
  .map(([left, right]) => ({ first: Math.min(left, right), last: Math.max(left, right) }));

interface Item {
  readonly token: number;
  readonly hash: RangeHash;
}

function sumOf(items: readonly Item[], { first, last }: TokenRange): RangeHash {
  return items
    .filter((item) => item.token >= first && item.token <= last)
    .reduce((sum, item) => addHashes(sum, item.hash), nothing);
}

function fill(tree: Tree, items: readonly Item[]): void {
  for (let segment = 0; segment < tree.segmentCount; segment++) {
    const own = items.filter((item) => tree.segmentOf(item.token) === segment);
    tree.take(segment);
    tree.settle(segment, own.length, sumOf(own, wholeRing));
  }
}

describe('a tree', () => {
  test('returns the sum of any range, equal to that of a list of all keys', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ token, hash }), { maxLength: 40 }),
        bits,
        range,
        (items, size, wanted) => {
          const tree = new Tree(size);
          fill(tree, items);
          const part = (cut: TokenRange): RangeHash => sumOf(items, cut);
          expect(tree.sum(wanted, part)).toEqual(sumOf(items, wanted));
          expect(tree.sum(wholeRing, part)).toEqual(sumOf(items, wholeRing));
          expect(tree.dirtyCount).toBe(0);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('settles empty segments together with the same result as one by one', () => {
    const states = fc.array(fc.constantFrom('clean', 'dirty', 'doubted', 'taken'), {
      minLength: 64,
      maxLength: 64,
    });
    const segment = fc.integer({ min: 0, max: 63 });
    fc.assert(
      fc.property(
        fc.array(fc.record({ token, hash })),
        states,
        segment,
        segment,
        (items, wanted, one, other) => {
          const [together, alone] = [new Tree(6), new Tree(6)];
          for (const tree of [together, alone]) {
            fill(tree, items);
            wanted.forEach((state, at) => {
              if (state === 'doubted') tree.doubt(at);
              else if (state !== 'clean') tree.dirty(at);
              if (state === 'taken') tree.take(at);
            });
          }
          const [first, last] = [Math.min(one, other), Math.max(one, other)];
          const wrong: number[] = [];
          together.settleEmpty(first, last, (found) => wrong.push(found));
          const expected: number[] = [];
          for (let at = first; at <= last; at++) {
            if (alone.take(at) && !alone.settle(at, 0, nothing)) expected.push(at);
          }
          expect(wrong).toEqual(expected);
          const seen = (tree: Tree): unknown => [
            wanted.map((_, at) => [tree.isDirty(at), tree.countOf(at), tree.hashOf(at)]),
            [tree.heldCount, tree.sum(wholeRing, () => nothing)],
            wanted.map((_, at) => tree.dirtyCountIn(tree.rangeOf(at))),
            [tree.dirtyCount, tree.dirtyCountIn({ first: 0, last: 0x7fffffff }), tree.nextDirty(0, 63)],
          ];
          expect(seen(together)).toEqual(seen(alone));
        },
      ),
      { numRuns: 100 },
    );
  });

  test('does not cancel the same hash added twice', () => {
    const tree = new Tree(4);
    const one = { high: 7, low: 9 };
    fill(tree, []);
    const before = tree.sum(wholeRing, () => nothing);
    tree.take(3);
    tree.settle(3, 2, addHashes(one, one));
    expect(
      sameHash(
        tree.sum(wholeRing, () => nothing),
        before,
      ),
    ).toBe(false);
  });

  test('leaves a segment dirty that changed while it was recomputed', () => {
    const tree = new Tree(4);
    fill(tree, []);
    tree.touch(0);
    expect(tree.take(0)).toBe(true);
    tree.touch(5);
    tree.settle(0, 1, { high: 1, low: 1 });
    expect([tree.isDirty(0), tree.dirtyCount]).toEqual([true, 1]);
    tree.take(0);
    tree.settle(0, 1, { high: 1, low: 1 });
    expect([tree.isDirty(0), tree.dirtyCount, tree.take(0)]).toEqual([false, 0, false]);
  });

  test('counts its dirty segments like a list of them all', () => {
    const segment = fc.integer({ min: 0, max: 255 });
    const step = fc.tuple(fc.constantFrom('dirty', 'doubt', 'take', 'settle' as const), segment);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), range, segment, segment, (steps, within, one, other) => {
        const tree = new Tree(8, 'clean');
        for (const [kind, at] of steps) {
          if (kind === 'settle') tree.settle(at, 1, { high: at, low: at });
          else tree[kind](at);
        }
        const dirty = Array.from({ length: 256 }, (_, at) => at).filter((at) => tree.isDirty(at));
        const [from, to] = [Math.min(one, other), Math.max(one, other)];
        const [first, last] = [tree.segmentOf(within.first), tree.segmentOf(within.last)];
        expect(tree.dirtyCount).toBe(dirty.length);
        expect(tree.dirtyCountIn(within)).toBe(dirty.filter((at) => at >= first && at <= last).length);
        expect(tree.nextDirty(from, to)).toBe(dirty.find((at) => at >= from && at <= to) ?? -1);
      }),
      { numRuns: 60 },
    );
  });

  test('reports an untouched leaf whose keys do not add up to its sum', () => {
    const tree = new Tree(4, 'clean');
    const hash = { high: 3, low: 4 };
    const derive = (value: RangeHash): boolean => {
      tree.take(2);
      return tree.settle(2, 1, value);
    };
    tree.dirty(2);
    expect(derive(hash)).toBe(true);
    tree.doubt(2);
    expect(derive(hash)).toBe(true);
    tree.doubt(2);
    expect(derive({ high: 3, low: 5 })).toBe(false);
    tree.doubt(2);
    tree.take(2);
    tree.dirty(2);
    expect([tree.settle(2, 1, hash), tree.isDirty(2)]).toEqual([true, true]);
  });

  test('of the default shape uses little memory', () => {
    expect(new Tree(16).bytes).toBeLessThan(2 * 1024 * 1024);
  });
});

describe('a divided range', () => {
  test('equals the union of its parts, and ends in segments', () => {
    fc.assert(
      fc.property(range, bits, (whole, size) => {
        let open: readonly TokenRange[] = [whole];
        for (let level = 0; !open.every((one) => isLeafRange(one, size)); level++) {
          expect(level).toBeLessThan(8);
          for (const one of open) expect(divide(one, size).length).toBeLessThanOrEqual(fanout + 1);
          // Only the first and the last part are followed down to segments; the middle parts are alike.
          const [head, tail] = [open[0] ?? whole, open.at(-1) ?? whole];
          open = [...divide(head, size).slice(0, 1), ...divide(tail, size).slice(-1)];
        }
        const parts = divide(whole, size);
        expect(parts[0]?.first).toBe(whole.first);
        expect(parts.at(-1)?.last).toBe(whole.last);
        parts.slice(1).forEach((part, index) => expect(part.first).toBe((parts[index]?.last ?? 0) + 1));
      }),
    );
  });
});

test('a tree is as small and as large as the configuration allows, and no other', () => {
  for (const bits of [segmentBitsMin, segmentBitsMax]) expect(new Tree(bits).segmentCount).toBe(2 ** bits);
  for (const bits of [segmentBitsMin - 1, segmentBitsMax + 1])
    expect(() => new Tree(bits)).toThrow('a tree of a reasonable size');
});
