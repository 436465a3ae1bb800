import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import { byteStringOf, tokenMax } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { objectKey, systemKey } from '../../base/object-key.ts';
import type { RangeStore } from './range-source.ts';
import { RangeSource } from './range-source.ts';
import type { Cursor } from './range-messages.ts';
import {
  decodeRangeAnswer,
  decodeRangeRequest,
  encodeRangeAnswer,
  encodeRangeRequest,
} from './range-messages.ts';

function keyOf(index: number): PackedKey {
  return objectKey(byteStringOf('t'), byteStringOf('b'), byteStringOf(`k${index}`)).packed;
}

function storeOf(
  tokens: ReadonlyMap<PackedKey, Token>,
  lost: ReadonlySet<PackedKey> = new Set(),
  suspicious: () => boolean = () => false,
  written: ReadonlySet<PackedKey> = new Set(),
): RangeStore {
  return {
    *keysOfTokens(from, to) {
      const span = (to - from) >>> 0 || 2 ** 32;
      for (const [key, at] of tokens) if (((at - from) >>> 0 || 2 ** 32) <= span) yield key;
    },
    isFormer: () => false,
    isSuspicious: () => suspicious(),
    tryReadDoubted: (key, done) => {
      done(undefined, Buffer.from(`written over ${key.slice(-2)}`));
      return 'ok';
    },
    hasNewest: (key) => written.has(key),
    tokenOf: (key) => tokens.get(key),
    tryRead: (key, done) => {
      if (lost.has(key)) done(new LockstepError('Corrupted'), undefined);
      else done(undefined, Buffer.from(key.slice(-4).padEnd(40)));
      return 'ok';
    },
  };
}

/** Reads a whole range batch by batch, through the codecs of both sides. */
async function readAll(
  source: RangeSource,
  from: Token,
  to: Token,
  bytesMax: number,
  asIs = false,
): Promise<readonly string[]> {
  const keys: string[] = [];
  let after: Cursor | undefined;
  do {
    const request = decodeRangeRequest(encodeRangeRequest({ from, to, after, bytesMax, asIs }));
    const answer = decodeRangeAnswer(encodeRangeAnswer(await source.read(request)));
    keys.push(...answer.objects.map(({ key }) => key));
    expect(answer.objects.length > 0 || answer.next === undefined).toBe(true);
    after = answer.next;
  } while (after !== undefined);
  return keys;
}

describe('a range source', () => {
  const token = fc.oneof(
    fc.integer({ min: 0, max: tokenMax }),
    fc.constantFrom(0, 1, 2 ** 20, tokenMax - 1, tokenMax),
  ) as fc.Arbitrary<Token>;

  it('gives every key of the range once and no other, in batches of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(token, { maxLength: 30 }),
        token,
        token,
        fc.integer({ min: 1, max: 200 }),
        async (tokens, from, to, bytesMax) => {
          const store = new Map(tokens.map((at, index) => [keyOf(index), at]));
          store.set(systemKey(byteStringOf('own'), byteStringOf('record')), to);
          const given = await readAll(new RangeSource(storeOf(store)), from, to, bytesMax);
          const inside = [...storeOf(store).keysOfTokens(from, to)].filter((key) => key.charCodeAt(0) !== 0);
          expect(given.toSorted()).toEqual(inside.toSorted());
        },
      ),
      { numRuns: 60 },
    );
  });

  it('gives no batch of several objects that is too large for a message, whatever is asked for', async () => {
    const keys = Array.from({ length: 9 }, (_, index) => keyOf(index));
    const store = storeOf(new Map(keys.map((key, index) => [key, index as Token])));
    const source = new RangeSource(store, 200);
    const whole = {
      from: tokenMax as Token,
      to: 20 as Token,
      after: undefined,
      bytesMax: 1_000_000,
      asIs: false,
    };
    const { objects, next } = await source.read(whole);
    const bytes = objects.reduce((sum, { key, bytes: { length } }) => sum + key.length + length, 0);
    expect([bytes <= 200, objects.length > 1, next === undefined]).toEqual([true, true, false]);
    expect(await readAll(source, whole.from, whole.to, 1_000_000)).toEqual(keys);
    expect(await readAll(new RangeSource(store, 1), whole.from, whole.to, 1_000_000)).toEqual(keys);
  });

  it('goes on behind a key that is written with a token outside the range while it is read', async () => {
    const tokens = new Map([5, 6, 7].map((at) => [keyOf(at), at as Token]));
    const store = storeOf(tokens);
    const source = new RangeSource({
      ...store,
      tryRead: (key, done) => {
        if (key === keyOf(5)) tokens.set(key, 100 as Token);
        return store.tryRead(key, done);
      },
    });
    expect(await readAll(source, 0 as Token, 10 as Token, 1)).toEqual([5, 6, 7].map(keyOf));
  });

  it.each(['a lost object', 'lost records of unknown keys'])(
    'hands over no range with %s before other replicas were read',
    async (what) => {
      const keys = new Map([keyOf(1), keyOf(2)].map((key) => [key, 5 as Token]));
      const isObject = what === 'a lost object';
      const lost = new Set(isObject ? [keyOf(1)] : []);
      const source = new RangeSource(storeOf(keys, lost, () => !isObject));
      const checked: unknown[] = [];
      let isFetched = false;
      source.guard({
        check: (range) => {
          checked.push(range);
          return isFetched ? undefined : new LockstepError('Overloaded', 'they are fetched');
        },
      });
      const read = (asIs: boolean): Promise<readonly string[]> =>
        readAll(source, 0 as Token, 9 as Token, 1, asIs);
      await expect(read(false)).rejects.toThrow('they are fetched');
      expect(checked).toEqual([{ from: 0, to: 9 }]);
      const left = [keyOf(1), keyOf(2)].filter((key) => !lost.has(key));
      // Of a node that reads several replicas.
      expect(await read(true)).toEqual(left);
      expect(checked.length).toBe(1);
      // What no replica has is left out.
      isFetched = true;
      expect(await read(false)).toEqual(left);
    },
  );

  it('hands over what was written over a lost object', async () => {
    const [one, two] = [keyOf(1), keyOf(2)];
    const keys = new Map([one, two].map((key) => [key, 5 as Token]));
    const store = storeOf(keys, new Set([one, two]), () => false, new Set([two]));
    expect(await readAll(new RangeSource(store), 0 as Token, 9 as Token, 1)).toEqual([two]);
  });

  it('takes a request of a build that knows no flag', () => {
    const request = { from: 0 as Token, to: 9 as Token, after: undefined, bytesMax: 1 };
    const plain = encodeRangeRequest({ ...request, asIs: false });
    expect(decodeRangeRequest(plain)).toEqual({ ...request, asIs: false });
    expect(plain.length).toBe(13);
    expect(decodeRangeRequest(encodeRangeRequest({ ...request, asIs: true })).asIs).toBe(true);
  });

  it('answers a malformed request with BadRequest', () => {
    expect(() => decodeRangeRequest(Buffer.from('x'))).toThrow(/does not decode/);
    expect(() => decodeRangeAnswer(Buffer.from([9]))).toThrow(/9 objects/);
  });
});
