import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionError, present } from '../../base/assert.ts';
import { BytesError } from '../../base/bytes.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringFrom } from '../../base/ids.ts';
import type { Content } from './content.ts';
import { decodeContent, encodeContent, tombstone } from './content.ts';
import type { Actor, VersionVector } from './dots.ts';
import { covers, emptyVector, highestCounter } from './dots.ts';
import type { StoredObject } from './object.ts';
import {
  applyWrite,
  basisOf,
  decodeContext,
  decodeObject,
  describeObject,
  encodeContext,
  encodeObject,
  isNewer,
  liveSiblings,
  mergeObjects,
  objectBytes,
  replaceWith,
  resolveToNewest,
  sameObject,
} from './object.ts';
import { contentOf, histories, mergedOf, play } from './replicas.contract.ts';

const byteString = fc.uint8Array({ maxLength: 12 }).map((bytes) => byteStringFrom(bytes));
const contents: fc.Arbitrary<Content> = fc.record({
  value: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  contentType: byteString,
  charset: byteString,
  contentEncoding: byteString,
  meta: fc.array(fc.tuple(byteString, byteString), { maxLength: 3 }),
  links: fc.array(fc.record({ bucket: byteString, key: byteString, tag: byteString }), { maxLength: 3 }),
  tombstone: fc.boolean(),
});
const write = fc.record({
  content: contents,
  actor: fc.constantFrom('a.00', 'b.00', 'n1.5f', 'é'),
  counter: fc.integer({ min: 1, max: 2 ** 52 }),
  sees: fc.boolean(),
  nowMs: fc.nat(2 ** 40),
  fromRead: fc.boolean(),
});
/** Any object that writes at one replica can produce. */
const objects: fc.Arbitrary<StoredObject> = fc.array(write, { minLength: 1, maxLength: 5 }).map((writes) => {
  let object: StoredObject | undefined;
  for (const { content, actor, counter, sees, nowMs, fromRead } of writes) {
    const dot = { actor: actor as Actor, counter };
    if (covers(object?.context ?? emptyVector, dot)) continue;
    const seen = sees ? (object?.context ?? emptyVector) : emptyVector;
    const basis = fromRead && highestCounter(seen) < counter ? basisOf(seen, dot) : 0;
    object = applyWrite(object, seen, content, dot, nowMs, basis);
  }
  return present(object, 'the first write');
});

describe('writes and merges', () => {
  it('replicas know the writes that the model says they know', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { snapshots, dots } = play(history);
        for (const { object, twin } of snapshots) {
          const liveDots = object?.siblings.map((sibling) => sibling.dot) ?? [];
          const live = dots.flatMap((dot, number) =>
            liveDots.some((other) => other === dot) ? [number] : [],
          );
          const known = dots.flatMap((dot, number) => (covers(object?.context ?? [], dot) ? [number] : []));
          expect(live).toEqual([...twin.live].toSorted((left, right) => left - right));
          expect(known).toEqual([...twin.known].toSorted((left, right) => left - right));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('merging is commutative, associative and idempotent in the encoded bytes', () => {
    fc.assert(
      fc.property(histories, fc.tuple(fc.nat(50), fc.nat(50), fc.nat(50)), (history, picks) => {
        const known = play(history).snapshots.flatMap(({ object }) => (object === undefined ? [] : [object]));
        fc.pre(known.length > 0);
        const [a, b, c] = picks.map((pick) => present(known[pick % known.length], 'a snapshot'));
        const merge = (left: StoredObject | undefined, right: StoredObject | undefined): StoredObject =>
          mergeObjects(present(left, 'left'), present(right, 'right'));
        const ab = merge(a, b);
        expect(encodeObject(ab)).toEqual(encodeObject(merge(b, a)));
        expect(encodeObject(merge(ab, c))).toEqual(encodeObject(merge(a, merge(b, c))));
        expect(encodeObject(merge(ab, ab))).toEqual(encodeObject(ab));
        expect(encodeObject(merge(ab, a))).toEqual(encodeObject(ab));
      }),
      { numRuns: 500 },
    );
  });

  it('a write replaces what its writer has seen and stands beside the rest', () => {
    const first = applyWrite(undefined, emptyVector, contentOf('1'), dotOf('a', 1), 5);
    const blind = applyWrite(first, emptyVector, contentOf('2'), dotOf('b', 1), 5);
    expect(describeObject(blind)).toBe('[a:1 b:1] {a:1 "text/plain" 1 bytes} {b:1 "text/plain" 1 bytes}');
    const seeing = applyWrite(blind, first.context, contentOf('3'), dotOf('b', 2), 5);
    expect(describeObject(seeing)).toBe('[a:1 b:2] {b:1 "text/plain" 1 bytes} {b:2 "text/plain" 1 bytes}');
    const all = applyWrite(seeing, seeing.context, tombstone, dotOf('a', 2), 5);
    expect(describeObject(all)).toBe('[a:2 b:2] {a:2 tombstone}');
  });

  it('replaceWith equals applyWrite followed by resolveToNewest', () => {
    fc.assert(
      fc.property(
        objects,
        objects,
        contents,
        fc.constantFrom('a.00', 'b', 'é', 'z'),
        (object, other, content, actor) => {
          for (const current of [object, undefined])
            for (const seen of [emptyVector, object.context, other.context]) {
              const counter = Math.max(highestCounter(object.context), highestCounter(seen)) + 1;
              const dot = { actor: actor as Actor, counter };
              // What the object holds has a basis before that counter, and the write's own is its counter.
              const replaced = replaceWith(current, seen, content, dot, 7);
              expect(replaced).toEqual(resolveToNewest(applyWrite(current, seen, content, dot, 7)));
            }
        },
      ),
    );
    const object = applyWrite(undefined, emptyVector, tombstone, dotOf('a', 3), 5);
    expect(() => replaceWith(object, emptyVector, tombstone, dotOf('b', 3), 5)).toThrow(AssertionError);
  });

  it('a dot that is already known fails an assertion', () => {
    const object = applyWrite(undefined, emptyVector, tombstone, dotOf('a', 3), 5);
    expect(() => applyWrite(object, emptyVector, tombstone, dotOf('a', 3), 5)).toThrow(AssertionError);
    expect(() => applyWrite(undefined, [dotOf('a', 7)], tombstone, dotOf('a', 4), 5)).toThrow(AssertionError);
  });

  it('live siblings are those that are no tombstones', () => {
    fc.assert(
      fc.property(objects, (object) => {
        expect(liveSiblings(object)).toEqual(object.siblings.filter((sibling) => !sibling.tombstone));
      }),
    );
  });

  it('equal objects have equal bytes', () => {
    fc.assert(
      fc.property(histories, fc.nat(50), fc.nat(50), (history, one, other) => {
        const known = play(history).snapshots.flatMap(({ object }) => (object === undefined ? [] : [object]));
        fc.pre(known.length > 0);
        const left = present(known[one % known.length], 'a snapshot');
        const right = present(known[other % known.length], 'a snapshot');
        expect(sameObject(left, right)).toBe(encodeObject(left).equals(encodeObject(right)));
      }),
    );
  });
});

describe('buckets without siblings', () => {
  it('a replica holds one write: the newest that it knows, and none that another known write had seen', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { snapshots, dots, seen, written } = play(history, resolveToNewest);
        for (const { object, twin } of snapshots) {
          if (object === undefined) continue;
          expect(object.siblings).toHaveLength(1);
          const winner = dots.findIndex((dot) => dot === object.siblings[0]?.dot);
          const winning = present(written[winner], 'the winner');
          for (const write of twin.known) {
            expect(seen[write]?.has(winner)).toBe(false);
            if (write !== winner) expect(isNewer(winning, present(written[write], 'a write'))).toBe(true);
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('replicas that know the same writes hold the same bytes, in whatever order they arrived', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { replicas } = play(history, resolveToNewest);
        const resolved = (
          left: StoredObject | undefined,
          right: StoredObject | undefined,
        ): StoredObject | undefined => {
          const merged = mergedOf(left, right);
          return merged === undefined ? undefined : resolveToNewest(merged);
        };
        const all = replicas.map(({ object }) => object);
        const forwards = all.reduce(resolved, undefined);
        const backwards = all.toReversed().reduce(resolved, undefined);
        const [first, ...rest] = all;
        const inwards = resolved(first, rest.reduce(resolved, undefined));
        const bytes = [forwards, backwards, inwards].map((object) => object && encodeObject(object));
        expect(bytes[1]).toEqual(bytes[0]);
        expect(bytes[2]).toEqual(bytes[0]);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('bytes of objects', () => {
  it('an object round-trips through its codec', () => {
    fc.assert(
      fc.property(objects, (object) => {
        const decoded = decodeObject(encodeObject(object));
        expect(decoded).toEqual(object);
      }),
    );
  });

  it('objectBytes is exact: a byte more or less would cost a second buffer', () => {
    fc.assert(
      fc.property(objects, (object) => {
        expect(objectBytes(object)).toBe(encodeObject(object).length);
      }),
    );
  });

  it('decoded objects encode to the same bytes, and malformed bytes throw BytesError', () => {
    let read = 0;
    let refused = 0;
    fc.assert(
      fc.property(objects, fc.nat(), fc.nat(255), fc.nat(3), (object, at, byte, cut) => {
        const whole = encodeObject(object);
        const bytes = Buffer.from(whole.subarray(0, whole.length - (cut === 1 ? at % whole.length : 0)));
        if (bytes.length > 0) bytes[at % bytes.length] = byte;
        try {
          expect(encodeObject(decodeObject(bytes))).toEqual(bytes);
          read += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(BytesError);
          refused += 1;
        }
      }),
      { numRuns: 3000 },
    );
    expect(read).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(100);
  });

  it('arbitrary bytes throw BytesError or are canonical', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.uint8Array({ maxLength: 60 }).map((rest) => Uint8Array.from([1, ...rest])),
    );
    const checks: readonly ((bytes: Uint8Array) => Buffer)[] = [
      (given) => encodeObject(decodeObject(given)),
      (given) => encodeContext(decodeContext(given)),
      (given) => encodeContent(decodeContent(given)),
    ];
    fc.assert(
      fc.property(bytes, (given) => {
        for (const check of checks) {
          try {
            expect(check(given)).toEqual(Buffer.from(given));
          } catch (error) {
            expect(error).toBeInstanceOf(BytesError);
          }
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('an object with many siblings and actors round-trips', () => {
    const writes = Array.from({ length: 3000 }, (_, index) => dotOf(`a${String(index).padStart(5, '0')}`, 1));
    const siblings = writes.map((dot) => ({ ...tombstone, dot, lastModifiedMs: 0, basis: 0 }));
    const object = { context: writes, siblings };
    expect(sameObject(decodeObject(encodeObject(object)), object)).toBe(true);
  });

  it('a context and a content round-trip through their codecs', () => {
    fc.assert(
      fc.property(objects, contents, (object, content) => {
        expect(decodeContext(encodeContext(object.context))).toEqual(object.context);
        expect(decodeContent(encodeContent(content))).toEqual(content);
      }),
    );
  });

  it('a list with more items than its bytes could hold throws before memory is allocated', () => {
    const huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
    expect(() => decodeContext(Uint8Array.from([1, ...huge]))).toThrow(BytesError);
    expect(() => decodeObject(Uint8Array.from([1, 0, ...huge]))).toThrow(BytesError);
    expect(() => decodeContent(Uint8Array.from([0, 0, 0, 0, ...huge]))).toThrow(BytesError);
  });
});

function dotOf(actor: string, counter: number): VersionVector[number] {
  return { actor: actor as ByteString as Actor, counter };
}
