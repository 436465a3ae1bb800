import fc from 'fast-check';
import { expect, test } from 'vitest';

import { byteStringFrom } from './ids.ts';
import type { ByteString } from './ids.ts';
import { KeyReader } from './key-reader.ts';
import { defaultType, objectKey } from './object-key.ts';

const maps = 'maps' as ByteString;

test('names read in sequence equal those built from their parts', () => {
  const part = (lengths: readonly number[]): fc.Arbitrary<Uint8Array> =>
    fc
      .constantFrom(...lengths)
      .chain((length) => fc.uint8Array({ minLength: length, maxLength: length, max: 255 }));
  const name = fc.tuple(
    fc.constantFrom(defaultType, maps),
    fc.oneof(fc.constant(Buffer.from('bench')), part([1, 5, 245, 246, 247, 300])),
    part([1, 7, 20, 256, 257]),
  );
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 6 }), (names) => {
      const reader = new KeyReader();
      for (const [type, bucket, key] of names)
        expect(reader.read(type, bucket, key)).toEqual(
          objectKey(type, byteStringFrom(bucket), byteStringFrom(key)),
        );
    }),
    { numRuns: 60 },
  );
});

test('changing the input bytes afterwards changes no name', () => {
  const reader = new KeyReader();
  const [bucket, key] = [Buffer.from('b1'), Buffer.from('k1')];
  const first = reader.read(defaultType, bucket, key);
  bucket.write('b2');
  key.write('k2');
  expect(reader.read(defaultType, bucket, key).packed).toBe(
    objectKey(defaultType, 'b2' as ByteString, 'k2' as ByteString).packed,
  );
  expect(first.packed).toBe(objectKey(defaultType, 'b1' as ByteString, 'k1' as ByteString).packed);
});

test('an empty part is refused as objectKey refuses it', () => {
  const reader = new KeyReader();
  reader.read(defaultType, Buffer.from('b'), Buffer.from('k'));
  expect(() => reader.read(defaultType, Buffer.from('b'), Buffer.alloc(0))).toThrow(
    'the key must not be empty',
  );
  expect(() => reader.read(defaultType, Buffer.alloc(0), Buffer.from('k'))).toThrow(
    'the bucket must not be empty',
  );
});
