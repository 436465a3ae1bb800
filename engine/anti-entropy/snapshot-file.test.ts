import { describe, expect, test } from 'vitest';

import { crc32 } from '../base/checksum.ts';
import { byteStringOf } from '../base/ids.ts';
import { decodeSnapshot, encodeSnapshot } from './snapshot-file.ts';
import type { SnapshotShape } from './snapshot-file.ts';
import { Tree, nothing, wholeRing } from './tree.ts';

const shape: SnapshotShape = { segmentBits: 4, node: byteStringOf('n1'), storeId: 'ab'.repeat(16) };

function small(): Tree {
  const tree = new Tree(4);
  for (let segment = 0; segment < 15; segment++) {
    tree.take(segment);
    tree.settle(segment, segment, { high: segment * 7, low: segment });
  }
  return tree;
}

function resealed(bytes: Buffer, at: number, value: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = value;
  copy.writeUInt32BE(crc32(copy.subarray(0, -4)), copy.length - 4);
  return copy;
}

function reasonOf(bytes: Buffer, wanted: SnapshotShape = shape): string {
  const reading = decodeSnapshot(bytes, wanted);
  return reading.kind === 'rejected' ? reading.reason : reading.kind;
}

describe('a snapshot', () => {
  const bytes = encodeSnapshot(small(), shape, 12_345_678_901);

  test('decodes to the tree that was saved: its sums, counts and dirty segments', () => {
    const reading = decodeSnapshot(bytes, shape);
    if (reading.kind !== 'read') throw new Error(reading.detail);
    expect(reading.position).toBe(12_345_678_901);
    expect(reading.tree.sum(wholeRing, () => nothing)).toEqual(small().sum(wholeRing, () => nothing));
    expect(reading.tree.countOf(9)).toBe(9);
    expect([reading.tree.isDirty(15), reading.tree.dirtyCount]).toEqual([true, 1]);
  });

  test('with any one bit flipped is Corrupted', () => {
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
        expect(reasonOf(flipped), `byte ${at}, bit ${bit}`).toBe('Corrupted');
      }
    }
  });

  test('truncated anywhere, or too long, is Corrupted', () => {
    for (let length = 0; length < bytes.length; length++) {
      expect(reasonOf(bytes.subarray(0, length)), `${length} bytes`).toBe('Corrupted');
    }
    expect(reasonOf(Buffer.concat([bytes, Buffer.alloc(1)]))).toBe('Corrupted');
    expect(reasonOf(Buffer.concat([bytes, bytes]))).toBe('Corrupted');
  });

  test('of another version with a valid checksum is VersionSkew', () => {
    expect(reasonOf(resealed(bytes, 11, 3))).toBe('VersionSkew');
    expect(reasonOf(resealed(bytes, 11, 1))).toBe('VersionSkew');
    expect(reasonOf(resealed(bytes, 0, 0x4d))).toBe('VersionSkew');
  });

  test('of another size, node or store is BadShape', () => {
    expect(reasonOf(bytes, { ...shape, segmentBits: 5 })).toBe('BadShape');
    expect(reasonOf(bytes, { ...shape, node: byteStringOf('n2') })).toBe('BadShape');
    expect(reasonOf(bytes, { ...shape, storeId: 'cd'.repeat(16) })).toBe('BadShape');
    expect(reasonOf(resealed(bytes, 19, 8))).toBe('BadShape');
  });
});
