import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LockstepError } from './errors.ts';
import type { ByteString } from './ids.ts';
import { byteStringFrom } from './ids.ts';
import type { PackedKey } from './object-key.ts';
import {
  bucketBytesMax,
  bucketOfPacked,
  bucketPrefix,
  clientNameOf,
  epochOf,
  hasEpoch,
  isSystemKey,
  keyBytesMax,
  objectKey,
  systemKey,
  typeBytesMax,
  underPrefix,
  unpackKey,
  withoutEpoch,
} from './object-key.ts';

const part = (maxLength: number): fc.Arbitrary<ByteString> =>
  fc.uint8Array({ minLength: 1, maxLength }).map((bytes) => byteStringFrom(bytes));
const names = fc.tuple(part(typeBytesMax), part(600), part(600));

describe('object keys', () => {
  it('a packed key unpacks to its parts', () => {
    fc.assert(
      fc.property(names, ([type, bucket, key]) => {
        const name = objectKey(type, bucket, key);
        expect(unpackKey(name.packed)).toEqual({ type, bucket, key, packed: name.packed });
        expect(name.packed.startsWith(bucketPrefix(type, bucket))).toBe(true);
        expect(Buffer.from(name.packed, 'latin1').toString('latin1')).toBe(name.packed);
      }),
    );
  });

  it('two names have one packed key only if they are the same', () => {
    const few = fc.constantFrom('\0', 'a', 'aa', '\0\x01', '\x01') as fc.Arbitrary<ByteString>;
    fc.assert(
      fc.property(fc.tuple(few, few, few), fc.tuple(few, few, few), (left, right) => {
        const same = left.every((text, index) => text === right[index]);
        expect(objectKey(...left).packed === objectKey(...right).packed).toBe(same);
      }),
      { numRuns: 1000 },
    );
  });

  const epochs = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

  it('a packed key with an epoch unpacks to the parts that clients name, and to its epoch', () => {
    fc.assert(
      fc.property(names, epochs, ([type, bucket, key], epoch) => {
        const name = objectKey(type, bucket, key);
        const { packed } = underPrefix(name, bucketPrefix(type, bucket, epoch));
        expect(unpackKey(packed)).toEqual({ type, bucket, key, packed });
        expect(clientNameOf(packed)).toEqual(name);
        expect([hasEpoch(packed), epochOf(packed)]).toEqual([true, epoch]);
        expect([hasEpoch(name.packed), epochOf(name.packed)]).toEqual([false, 0]);
        expect(bucketOfPacked(packed)).toBe(bucketPrefix(type, bucket));
        expect(withoutEpoch(packed)).toBe(name.packed);
        expect(isSystemKey(packed)).toBe(false);
      }),
    );
  });

  it('of two epochs of a bucket, neither prefix begins a key of the other', () => {
    const few = fc.constantFrom('\0', 'a', '\x80\0', '\0\0\0\0\0\0\0\x01') as fc.Arbitrary<ByteString>;
    const some = fc.constantFrom(0, 1, 2, 256, 2 ** 40);
    fc.assert(
      fc.property(few, few, few, some, some, (type, bucket, key, one, other) => {
        const { packed } = underPrefix(objectKey(type, bucket, key), bucketPrefix(type, bucket, one));
        expect(packed.startsWith(bucketPrefix(type, bucket, other))).toBe(one === other);
      }),
    );
  });

  it('arbitrary bytes are refused or are the packed form of what they unpack to', () => {
    const short = fc.uint8Array({ maxLength: 40 });
    const likely = fc
      .tuple(
        fc.integer({ min: 0, max: 3 }),
        fc.constantFrom(0, 0x80),
        fc.integer({ min: 0, max: 3 }),
        fc.uint8Array({ maxLength: 20 }),
      )
      .map(([type, flag, bucket, rest]) =>
        Uint8Array.from([type, ...rest.subarray(0, type), flag, bucket, ...rest.subarray(type)]),
      );
    let unpacked = 0;
    fc.assert(
      fc.property(fc.oneof(short, likely), (bytes) => {
        const packed = byteStringFrom(bytes) as PackedKey;
        const name = unpackKey(packed);
        if (name === undefined) return;
        unpacked += 1;
        const named = objectKey(name.type, name.bucket, name.key);
        const prefix = bucketPrefix(name.type, name.bucket, epochOf(packed));
        expect(underPrefix(named, prefix).packed).toBe(packed);
        expect(withoutEpoch(packed)).toBe(named.packed);
      }),
      { numRuns: 2000 },
    );
    expect(unpacked).toBeGreaterThan(100);
  });

  it("the engine's own records are no objects, and lie in a bucket of their own", () => {
    fc.assert(
      fc.property(part(40), part(40), (bucket, name) => {
        const key = systemKey(bucket, name);
        expect(isSystemKey(key)).toBe(true);
        expect(unpackKey(key)).toBe(undefined);
        expect(key).toBe(bucketPrefix('' as ByteString, bucket) + name);
        expect(isSystemKey(objectKey(name, bucket, name).packed)).toBe(false);
      }),
    );
  });

  it('parts of the maximal length pass; longer and empty ones are refused', () => {
    const limits = [typeBytesMax, bucketBytesMax, keyBytesMax];
    const full = limits.map((limit) => 'x'.repeat(limit) as ByteString);
    const [type, bucket, key] = full;
    expect(
      unpackKey(objectKey(type ?? bucketless, bucket ?? bucketless, key ?? bucketless).packed)?.key,
    ).toBe(key);
    limits.forEach((limit, place) => {
      const withPart = (text: string): (() => unknown) => {
        const parts = ['t', 'b', 'k'].map((given, index) => (index === place ? text : given) as ByteString);
        return () => objectKey(parts[0] ?? bucketless, parts[1] ?? bucketless, parts[2] ?? bucketless);
      };
      expect(codeOf(withPart(''))).toBe('BadRequest');
      expect(codeOf(withPart('x'.repeat(limit + 1)))).toBe('TooLarge');
      expect(codeOf(withPart('x'.repeat(limit)))).toBe(undefined);
    });
  });
});

const bucketless = '' as ByteString;

function codeOf(make: () => unknown): string | undefined {
  try {
    make();
    return undefined;
  } catch (error) {
    return error instanceof LockstepError ? error.code : 'another error';
  }
}
