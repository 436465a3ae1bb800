import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { byteStringOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { Content } from '../replica/object/content.ts';
import type { Actor } from '../replica/object/dots.ts';
import { emptyVector } from '../replica/object/dots.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { applyWrite, encodeObject } from '../replica/object/object.ts';
import { diffEntries, judge } from './diff.ts';
import { EntryHasher } from './entry-hash.ts';

const hasher = new EntryHasher();
const [a, b] = ['n1.a', 'n2.b'].map((name) => byteStringOf(name) as Actor);

function content(text: string): Content {
  const none = byteStringOf('');
  return {
    value: Buffer.from(text),
    contentType: byteStringOf('text/plain'),
    charset: none,
    contentEncoding: none,
    meta: [],
    links: [],
    tombstone: false,
  };
}

function write(
  base: StoredObject | undefined,
  actor: Actor | undefined,
  counter: number,
  text: string,
): StoredObject {
  const dot = { actor: actor ?? ('x' as Actor), counter };
  return applyWrite(base, base?.context ?? emptyVector, content(text), dot, counter);
}

describe('the difference of two lists', () => {
  test('is the symmetric difference of what they hold', () => {
    const side = fc.dictionary(fc.string({ minLength: 1, maxLength: 3 }), fc.integer({ min: 0, max: 2 }));
    fc.assert(
      fc.property(side, side, (left, right) => {
        const entriesOf = (held: Record<string, number>): Parameters<typeof diffEntries>[0] =>
          Object.keys(held)
            .sort()
            .map((key) => {
              const value = Buffer.from([held[key] ?? 0]);
              return { key: key as PackedKey, token: 1, hash: hasher.hash(key as PackedKey, value) };
            });
        const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
        const expected = names.filter(
          (name) =>
            (Object.hasOwn(left, name) ? left[name] : -1) !== (Object.hasOwn(right, name) ? right[name] : -1),
        );
        const found = diffEntries(entriesOf(left), entriesOf(right)).map(({ key }) => key);
        expect(found.toSorted()).toEqual(expected.sort());
      }),
    );
  });
});

describe('the hash of an entry', () => {
  test('covers the key, the value and where one ends and the other begins', () => {
    const hashes = [
      hasher.hash('ab' as PackedKey, Buffer.from('c')),
      hasher.hash('a' as PackedKey, Buffer.from('bc')),
      hasher.hash('ab' as PackedKey, Buffer.from('d')),
      hasher.hash('ac' as PackedKey, Buffer.from('c')),
    ];
    expect(new Set(hashes.map(({ high, low }) => `${high}/${low}`)).size).toBe(4);
  });

  test('is the same for small and large values, in one buffer or several', () => {
    const large = Buffer.alloc(40_000, 7);
    const again = new EntryHasher().hash('k' as PackedKey, Buffer.from(large));
    expect(hasher.hash('k' as PackedKey, large)).toEqual(again);
    large[39_999] = 8;
    expect(hasher.hash('k' as PackedKey, large)).not.toEqual(again);
  });
});

describe('a key that differs', () => {
  const first = write(undefined, a, 1, 'first');
  const older = encodeObject(first);
  const newer = encodeObject(write(first, b, 2, 'second'));
  const aside = encodeObject(write(undefined, b, 3, 'aside'));

  test.each([
    ['nothing on both sides', undefined, undefined, 'equal'],
    ['the same', older, older, 'equal'],
    ['missing here', undefined, older, 'pull'],
    ['missing there', older, undefined, 'push'],
    ['newer here', newer, older, 'push'],
    ['newer there', older, newer, 'pull'],
    ['concurrent', older, aside, 'siblings'],
    ['no object', older, Buffer.from('noise'), 'ambiguousClock'],
  ] as const)('%s', (_, mine, theirs, verdict) => {
    expect(judge(mine, theirs, true)).toBe(verdict);
    if (verdict !== 'siblings') expect(judge(mine, theirs, false)).toBe(verdict);
  });

  test('with different bytes under the same context is not repaired', () => {
    const other = encodeObject(write(undefined, a, 1, 'FIRST'));
    expect(judge(older, other, true)).toBe('ambiguousClock');
    expect(judge(older, other, false)).toBe('ambiguousClock');
  });
});
