import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { viewOf } from '../../base/views.ts';
import { HashList, hashKey } from '../index/key-hash.ts';
import type { StoreWrite } from './record.ts';
import {
  groupBodyBytes,
  groupBytes,
  groupCount,
  groupDurableBefore,
  groupFirstSeq,
  groupHashXor,
  groupHeadBytes,
  groupHeadIsSound,
  groupTokenXor,
  recordHeadBytes,
  recordHeadIsSound,
  recordKeyBytes,
  recordSeq,
  recordSpan,
  recordToken,
  recordValueBytes,
  recordValueIsSound,
  removalMark,
  segmentIdentity,
} from './record.ts';
import { encodeGroup } from './group.fixture.ts';

const identity = segmentIdentity(Buffer.alloc(16, 5), 7, 'log');
const at = 4096;

const batches: fc.Arbitrary<StoreWrite[]> = fc.array(
  fc.record({
    key: fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => latin1(bytes) as PackedKey),
    token: fc.nat(0xffffffff).map((token) => token as Token),
    value: fc.option(fc.uint8Array({ maxLength: 300 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 6 },
);

describe('a record group', () => {
  it('decodes to what was encoded, at any position', () => {
    fc.assert(
      fc.property(batches, fc.nat(2 ** 48), fc.nat(9), (batch, firstSeq, position) => {
        const { bytes, end, hashes } = encoded(batch, firstSeq, position);
        expect(end).toBe(position + groupBytes(batch));
        expect(groupHeadIsSound(bytes, position, at, identity.salt)).toBe(true);
        expect(groupBodyBytes(bytes, position)).toBe(end - position - groupHeadBytes);
        expect(groupCount(bytes, position)).toBe(batch.length);
        expect(groupFirstSeq(bytes, position)).toBe(firstSeq);
        expect(groupDurableBefore(bytes, position)).toBe(64);
        expect(groupTokenXor(bytes, position)).toBe(xorOf(batch.map(({ token }) => token)));
        expect(groupHashXor(bytes, position)).toBe(xorOf(hashes));
        let place = position + groupHeadBytes;
        batch.forEach((write, index) => {
          expect(writeAt(bytes, place)).toEqual({ ...write, value: write.value && Buffer.from(write.value) });
          expect(recordSeq(bytes, place)).toBe(firstSeq + index);
          const keyAt = place + recordHeadBytes;
          expect(hashes[index]).toBe(hashKey(bytes, keyAt, write.key.length, identity.hashSeed));
          expect(recordHeadIsSound(bytes, place, end, identity.salt)).toBe(true);
          expect(recordValueIsSound(bytes, place, end, identity.salt)).toBe(true);
          place += recordSpan(bytes, place, end);
        });
        expect(place).toBe(end);
      }),
    );
  });

  it('with one bit flipped anywhere is not sound', () => {
    fc.assert(
      fc.property(batches, fc.nat(), fc.nat(7), (batch, draw, bit) => {
        const { bytes, end } = encoded(batch, 1, 0);
        bytes[draw % end] = (bytes[draw % end] ?? 0) ^ (1 << bit);
        expect(isSound(bytes, end, at, identity.salt, batch.length)).toBe(false);
      }),
    );
  });

  it('is sound only at its own offset of its own segment', () => {
    const { bytes } = encoded(
      [{ key: 'key' as PackedKey, token: 3 as Token, value: Buffer.from('v') }],
      1,
      0,
    );
    const another = segmentIdentity(Buffer.alloc(16, 5), 8, 'log');
    const foreign = segmentIdentity(Buffer.alloc(16, 6), 7, 'log');
    expect(groupHeadIsSound(bytes, 0, at, identity.salt)).toBe(true);
    expect(groupHeadIsSound(bytes, 0, at + 512, identity.salt)).toBe(false);
    expect(groupHeadIsSound(bytes, 0, at, another.salt)).toBe(false);
    expect(groupHeadIsSound(bytes, 0, at, foreign.salt)).toBe(false);
  });
});

function encoded(
  batch: readonly StoreWrite[],
  firstSeq: number,
  position: number,
): { readonly bytes: Buffer; readonly end: number; readonly hashes: readonly number[] } {
  const bytes = Buffer.alloc(position + groupBytes(batch) + 50, 0xee);
  const hashes = new HashList();
  const end = encodeGroup(bytes, viewOf(bytes), position, batch, identity, at, firstSeq, 64, hashes);
  return { bytes, end, hashes: batch.map((_, index) => hashes.at(index)) };
}

function writeAt(bytes: Buffer, place: number): StoreWrite {
  const keyAt = place + recordHeadBytes;
  const valueAt = keyAt + recordKeyBytes(bytes, place);
  const valueBytes = recordValueBytes(bytes, place);
  return {
    key: bytes.toString('latin1', keyAt, valueAt) as PackedKey,
    token: recordToken(bytes, place) as Token,
    value: valueBytes === removalMark ? undefined : bytes.subarray(valueAt, valueAt + valueBytes),
  };
}

/** Whether the head, every record and their number match. */
function isSound(bytes: Buffer, end: number, offset: number, salt: number, count: number): boolean {
  if (!groupHeadIsSound(bytes, 0, offset, salt)) return false;
  let records = 0;
  for (let place = groupHeadBytes; place < end; records++) {
    if (!recordHeadIsSound(bytes, place, end, salt) || !recordValueIsSound(bytes, place, end, salt))
      return false;
    place += recordSpan(bytes, place, end);
  }
  return records === count;
}

function xorOf(numbers: readonly number[]): number {
  return numbers.reduce((xor, number) => xor ^ number, 0) >>> 0;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}
