import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { ByteString, Token } from '../../base/ids.ts';
import { bucketPrefix } from '../../base/object-key.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { viewOf } from '../../base/views.ts';
import { KeyDirectory } from './key-directory.ts';

const prefixes = ['a', 'bb'].map((bucket) => bucketPrefix('t' as ByteString, bucket as ByteString));

/** Adds, moves or removes a key, as a store does. */
type Step = { readonly kind: 'put' | 'remove'; readonly key: string; readonly token: number };

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('put' as const, 'put' as const, 'remove' as const),
  key: fc.tuple(fc.constantFrom(...prefixes), fc.nat(60)).map(([prefix, number]) => `${prefix}${number}`),
  token: fc.oneof(fc.nat(0xffffffff), fc.constantFrom(0, 1, 0xfffff, 0x100000, 0xffffffff)),
});

function put(directory: KeyDirectory, key: string, token: number, seq: number): void {
  const bytes = Buffer.from(key, 'latin1');
  const hash = directory.hashBytes(bytes, 0, bytes.length);
  const view = viewOf(bytes);
  let id = directory.findHashed(hash, view, 0, bytes.length);
  if (id === 0) id = directory.add(hash, bytes, view, 0, bytes.length, token);
  else directory.setToken(id, token);
  directory.place(id, 7, seq * 10, seq % 50, seq, 'live');
}

function remove(directory: KeyDirectory, key: string): void {
  const bytes = Buffer.from(key, 'latin1');
  const id = directory.findBytes(bytes, 0, bytes.length);
  if (id !== 0) directory.remove(id);
}

function keysOf(directory: KeyDirectory, ids: Iterable<number>): readonly string[] {
  return Array.from(ids, (id) => directory.keyOf(id) as string).toSorted();
}

/** The directory, and its simple model, after the steps. */
function play(steps: readonly Step[]): { directory: KeyDirectory; twin: Map<string, Token> } {
  const directory = new KeyDirectory(99);
  const twin = new Map<string, Token>();
  steps.forEach((step, index) => {
    if (step.kind === 'put') {
      put(directory, step.key, step.token, index + 1);
      twin.set(step.key, step.token as Token);
    } else {
      remove(directory, step.key);
      twin.delete(step.key);
    }
  });
  return { directory, twin };
}

describe('the key directory', () => {
  it('holds what a map holds, through any puts and removals', () => {
    fc.assert(
      fc.property(fc.array(stepArbitrary, { maxLength: 300 }), (steps) => {
        const { directory, twin } = play(steps);
        expect(directory.size).toBe(twin.size);
        expect(keysOf(directory, directory.ids())).toEqual([...twin.keys()].toSorted());
      }),
      { numRuns: 60 },
    );
  });

  it('iterates exactly the keys of a bucket', () => {
    fc.assert(
      fc.property(fc.array(stepArbitrary, { maxLength: 200 }), (steps) => {
        const { directory, twin } = play(steps);
        for (const prefix of prefixes) {
          const expected = [...twin.keys()].filter((key) => key.startsWith(prefix)).toSorted();
          expect(keysOf(directory, directory.idsOfBucket(prefix))).toEqual(expected);
          expect(directory.bucketKeysMax(prefix)).toBeGreaterThanOrEqual(expected.length);
          expect(directory.bucketKeysMax(prefix)).toBeLessThanOrEqual(directory.size);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('iterates exactly the tokens after `from` up to `to`, around zero, the whole ring when they are equal', () => {
    const edge = fc.oneof(
      fc.nat(0xffffffff),
      fc.constantFrom(0, 1, 0xfffff, 0x100000, 0xfffffffe, 0xffffffff),
    );
    fc.assert(
      fc.property(fc.array(stepArbitrary, { maxLength: 150 }), edge, edge, (steps, from, to) => {
        const { directory, twin } = play(steps);
        const isIn = (token: number): boolean =>
          from === to || (from < to ? token > from && token <= to : token > from || token <= to);
        const expected = [...twin].filter(([, token]) => isIn(token)).map(([key]) => key);
        expect(keysOf(directory, directory.idsOfTokens(from, to))).toEqual(expected.toSorted());
      }),
      { numRuns: 200 },
    );
  });

  it('reports no range of tokens as empty that holds a key', () => {
    fc.assert(
      fc.property(
        fc.array(stepArbitrary, { maxLength: 60 }),
        fc.integer({ min: 0, max: 0xffffffff }),
        (steps, first) => {
          const { directory, twin } = play(steps);
          const through = directory.emptyThrough(first, 0xffffffff);
          const skipped = [...twin.values()].filter((token) => token >= first && token <= through);
          expect(through).toBeGreaterThanOrEqual(first - 1);
          expect(skipped).toEqual([]);
          if (twin.size === 0) expect(through).toBe(0xffffffff);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('visits every remaining key exactly once while others are added and removed during a walk', () => {
    fc.assert(
      fc.property(fc.array(stepArbitrary, { minLength: 1, maxLength: 80 }), fc.nat(3), (steps, every) => {
        const { directory, twin } = play(steps);
        const victims = [...twin.keys()].filter((_, index) => index % (every + 2) === 0);
        const met: string[] = [];
        let visits = 0;
        for (const id of directory.ids()) {
          met.push(directory.keyOf(id));
          const victim = victims[visits++];
          if (victim !== undefined) remove(directory, victim);
          put(directory, `${String(prefixes[0])}new${visits}`, visits * 0x01000000, visits);
        }
        const staying = [...twin.keys()].filter((key) => !victims.includes(key)).toSorted();
        expect(new Set(met).size).toBe(met.length);
        expect(met.filter((key) => staying.includes(key)).toSorted()).toEqual(staying);
      }),
      { numRuns: 60 },
    );
  });

  it('finds keys of every length, and tells apart those that differ in their last byte', () => {
    const directory = new KeyDirectory(7);
    const lengths = [1, 3, 4, 5, 255, 256, 257, 600, 5000];
    const keys = lengths.flatMap((length) => ['x', 'y'].map((last) => 'k'.repeat(length - 1) + last));
    for (const [index, key] of keys.entries()) put(directory, key, index, index + 1);
    const found = keys.map((key) => directory.seqOf(directory.find(key as PackedKey)));
    const foundByBytes = keys.map((key) => {
      const bytes = Buffer.from(`-${key}-`, 'latin1');
      return directory.seqOf(directory.findBytes(bytes, 1, key.length));
    });
    expect(found).toEqual(keys.map((_, index) => index + 1));
    expect(foundByBytes).toEqual(found);
    expect(directory.find('k' as PackedKey)).toBe(0);
  });

  it('returns the position, size, sequence number and token of a key', () => {
    const directory = new KeyDirectory(1);
    put(directory, 'k', 0xfffffff0, 2 ** 40 + 3);
    const id = directory.find('k' as never);
    expect(directory.seqOf(id)).toBe(2 ** 40 + 3);
    expect(directory.tokenOf(id)).toBe(0xfffffff0);
    expect(directory.segmentOf(id)).toBe(7);
    directory.place(id, 8, 5, 123, 9, 'damaged');
    expect([directory.stateOf(id), directory.valueBytesOf(id)]).toEqual(['damaged', 123]);
  });

  it('uses at most 110 bytes of memory per key beyond the key', () => {
    const directory = new KeyDirectory(1);
    const count = 100_000;
    for (let index = 0; index < count; index++)
      put(directory, String(index).padStart(24, '0'), index * 40_000, index);
    expect(directory.bytes / count - 24).toBeLessThan(110);
  });
});
