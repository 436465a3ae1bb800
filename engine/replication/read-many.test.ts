/** How the reads that travel together, and their answers, are encoded. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { BytesError } from '../base/bytes.ts';
import { byteStringOf } from '../base/ids.ts';
import type { Token } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { plainContent } from '../replica/object/content.ts';
import type { Actor, Dot } from '../replica/object/dots.ts';
import { compareDots, emptyVector } from '../replica/object/dots.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { applyWrite, encodeObject, sameObject, versionLength } from '../replica/object/object.ts';
import type { FoundObject } from './read-many.ts';
import {
  answerBytesMax,
  decodeFound,
  decodeReads,
  encodeReads,
  FoundObjects,
  isOfVersion,
  sameObjectFound,
  unanswered,
  versionToSend,
} from './read-many.ts';

const found = fc.oneof(
  fc.constantFrom(sameObjectFound, unanswered),
  fc.record({
    kind: fc.constant('object' as const),
    bytes: fc.option(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      { nil: undefined },
    ),
  }),
  fc.record({
    kind: fc.constant('failed' as const),
    code: fc.constantFrom('StorageFailed' as const, 'Overloaded' as const),
    message: fc.string({ maxLength: 20, unit: 'binary-ascii' }),
  }),
);

function decoded(words: Uint8Array, count: number): readonly FoundObject[] {
  const all: FoundObject[] = [];
  decodeFound(words, count, (index, one) => (all[index] = one));
  return all;
}

test('answers arrive as they were noted, in whatever order the reads ended', () => {
  fc.assert(
    fc.property(fc.array(found, { minLength: 1, maxLength: 20 }), fc.boolean(), (all, backwards) => {
      const collected = new FoundObjects(all.length);
      const order = [...all.keys()];
      if (backwards) order.reverse();
      const last = order.map((index) => collected.note(index, all[index] as FoundObject));
      expect(last.indexOf(true)).toBe(all.length - 1);
      expect(decoded(Buffer.from(collected.encode()), all.length)).toEqual(all);
    }),
  );
});

test('an answer of another length, or with an unknown mark, does not decode', () => {
  for (const bytes of [[], [1], [1, 1, 1], [1, 5], [0, 1], [1, 2], [2, 1, 9, 0]])
    expect(() => decoded(Buffer.from(bytes), 2)).toThrow(BytesError);
});

test('objects that would make the answer too large are left to the asker', () => {
  const collected = new FoundObjects(3);
  const half = { kind: 'object', bytes: Buffer.alloc(answerBytesMax / 2) } as const;
  for (const index of [0, 1, 2]) collected.note(index, half);
  expect(decoded(collected.encode(), 3).map(({ kind }) => kind)).toEqual([
    'object',
    'unanswered',
    'unanswered',
  ]);
});

test('reads arrive as they were sent, and malformed ones do not decode', () => {
  const reads = ['a', 'b'].map((name, index) => ({
    key: objectKey(defaultType, byteStringOf('b'), byteStringOf(name)).packed,
    token: index as Token,
    version: Buffer.alloc(index, 7),
  }));
  const words = Buffer.from(encodeReads(reads));
  expect(decodeReads(words)).toEqual(reads);
  for (const length of words.keys())
    expect(() => decodeReads(words.subarray(0, length)), `${length}`).toThrow(BytesError);
  expect(() => decodeReads(Buffer.concat([words, Buffer.alloc(1)]))).toThrow(BytesError);
  expect(() => decodeReads(Buffer.from([1, 1, 0x61, 0, 0, 0, 0, 0]))).toThrow(BytesError);
});

const dot = fc.record({
  actor: fc.constantFrom('n1.5f', 'n2.07', 'n3.01').map((name) => name as Actor),
  counter: fc.constantFrom(1, 2, 200, 2 ** 40),
});

/** An object whose content follows from its dots, as in a cluster. */
const object = fc.array(dot, { minLength: 1, maxLength: 3 }).map((dots): StoredObject => {
  let made: StoredObject | undefined;
  const write = (one: Dot): void => {
    const known = made?.context.find(({ actor }) => actor === one.actor);
    if (known !== undefined && known.counter >= one.counter) return;
    const content = plainContent(Buffer.from(`${one.actor} ${one.counter}`.repeat(40)), 'text/plain');
    made = applyWrite(
      made,
      one.counter === 2 ? emptyVector : (made?.context ?? emptyVector),
      content,
      one,
      0,
    );
  };
  for (const one of [...dots].sort(compareDots)) write(one);
  return made as StoredObject;
});

test('an object is of a version that was sent exactly if it is the same object', () => {
  fc.assert(
    fc.property(object, object, (one, other) => {
      const version = versionToSend(encodeObject(one));
      expect(version !== undefined).toBe(one.siblings.length === 1);
      if (version === undefined) return;
      expect(isOfVersion(encodeObject(other), version)).toBe(sameObject(one, other));
    }),
  );
});

test('no version is sent of what is malformed, or hardly longer than its version', () => {
  const small = applyWrite(
    undefined,
    emptyVector,
    plainContent(Buffer.from('v'), ''),
    { actor: 'n1.5f.and-a-long-name' as Actor, counter: 2 ** 40 },
    0,
  );
  expect(versionLength(encodeObject(small))).toBeGreaterThan(0);
  for (const bytes of [Buffer.alloc(0), Buffer.from([1, 200]), encodeObject(small)])
    expect(versionToSend(bytes)).toBeUndefined();
});
