/**
 * The encoding of a tree's snapshot.
 *
 *     head      "LKAAETRE" | u32 format version | u32 segments | u32 fan-out | 16 bytes store id
 *               | varint length and name of the node | u64 store position
 *     payload   a bit per segment: it was dirty | a bit per segment: it holds keys and was not dirty
 *               | per segment of the second kind, in order: u32 high | u32 low | u32 keys
 *     end       u32 crc of everything before
 *
 * Bits are counted from the lowest of the first byte. The checksum is the last four bytes in every version, so that
 * damage and another version can be told apart.
 */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import { crc32 } from '../base/checksum.ts';
import type { ByteString } from '../base/ids.ts';
import { Tree, fanout } from './tree.ts';
import type { Checks } from '../io/io.ts';

/** The format version that this program writes and reads. */
export const snapshotVersion = 2;

/** The node, store and shape that a snapshot must match. */
export interface SnapshotShape {
  readonly segmentBits: number;
  /** The node's name. */
  readonly node: ByteString;
  /** 32 hexadecimal digits. */
  readonly storeId: string;
}

/** Why a snapshot is not used: damaged, of another format version, or of another node, store or shape. */
export type SnapshotRejection = 'Corrupted' | 'VersionSkew' | 'BadShape';

/** A decoded snapshot, or why it is rejected. */
export type SnapshotReading =
  | {
      readonly kind: 'read';
      readonly tree: Tree;
      /** The tree covers every record up to this sequence number of the store. */
      readonly position: number;
    }
  | { readonly kind: 'rejected'; readonly reason: SnapshotRejection; readonly detail: string };

const magic = 'LKAAETRE';
const entryBytes = 12;

/** Upper bound on the size of any tree's snapshot. */
export const snapshotBytesMax = 64 * 1024 * 1024;

/** Encodes the tree. `position`: the store's newest sequence number at this instant. */
export function encodeSnapshot(tree: Tree, shape: SnapshotShape, position: number): Buffer {
  const writer = new ByteWriter(128);
  writer.raw(Buffer.from(magic, 'latin1')).u32(snapshotVersion);
  writeShape(writer, shape);
  const head = writer.u64(position).finish();
  const mapBytes = tree.segmentCount / 8;
  const bytes = Buffer.alloc(head.length + 2 * mapBytes + tree.heldCount * entryBytes + 4);
  head.copy(bytes);
  const dirtyAt = head.length;
  const heldAt = dirtyAt + mapBytes;
  let at = heldAt + mapBytes;
  for (let segment = 0; segment < tree.segmentCount; segment++) {
    const byte = segment >>> 3;
    const bit = 1 << (segment & 7);
    const count = tree.countOf(segment);
    if (tree.isDirty(segment)) bytes[dirtyAt + byte] = (bytes[dirtyAt + byte] ?? 0) | bit;
    else if (count > 0) {
      bytes[heldAt + byte] = (bytes[heldAt + byte] ?? 0) | bit;
      at = bytes.writeUInt32BE(tree.highOf(segment), at);
      at = bytes.writeUInt32BE(tree.lowOf(segment), at);
      at = bytes.writeUInt32BE(count, at);
    }
  }
  const end = bytes.writeUInt32BE(crc32(bytes.subarray(0, at)), at);
  return bytes.subarray(0, end);
}

/** Decodes a snapshot for this shape, or returns why it is rejected. */
export function decodeSnapshot(
  bytes: Buffer,
  shape: SnapshotShape,
  checks: Checks = 'cheap',
): SnapshotReading {
  const bodyBytes = bytes.length - 4;
  if (bodyBytes < magic.length + 4) return rejected('Corrupted', `${bytes.length} bytes are no snapshot`);
  const body = bytes.subarray(0, bodyBytes);
  if (crc32(body) !== bytes.readUInt32BE(bodyBytes))
    return rejected('Corrupted', 'the checksum does not match');
  const reader = new ByteReader(body);
  const version = reader.raw(magic.length).toString('latin1') === magic ? reader.u32() : undefined;
  if (version !== snapshotVersion) {
    return rejected('VersionSkew', `format ${version ?? 'unknown'}; this version reads ${snapshotVersion}`);
  }
  const writer = new ByteWriter(64);
  writeShape(writer, shape);
  const expected = writer.finish();
  if (reader.left < expected.length || !reader.raw(expected.length).equals(expected)) {
    return rejected('BadShape', 'the tree of another shape, node or store');
  }
  return readTree(reader, shape.segmentBits, checks);
}

function readTree(reader: ByteReader, segmentBits: number, checks: Checks): SnapshotReading {
  const tree = new Tree(segmentBits, 'clean', checks);
  const mapBytes = tree.segmentCount / 8;
  try {
    const position = reader.u64();
    const dirty = reader.raw(mapBytes);
    const held = reader.raw(mapBytes);
    for (let segment = 0; segment < tree.segmentCount; segment++) {
      if (hasBit(held, segment)) {
        const hash = { high: reader.u32(), low: reader.u32() };
        tree.settle(segment, reader.u32(), hash);
      }
      if (hasBit(dirty, segment)) tree.dirty(segment);
    }
    reader.end();
    return { kind: 'read', tree, position };
  } catch (error) {
    if (error instanceof BytesError) return rejected('Corrupted', error.message);
    throw error;
  }
}

function hasBit(map: Uint8Array, index: number): boolean {
  return ((map[index >>> 3] ?? 0) & (1 << (index & 7))) !== 0;
}

function writeShape(writer: ByteWriter, { segmentBits, storeId, node }: SnapshotShape): void {
  writer.u32(1 << segmentBits).u32(fanout);
  writer.raw(Buffer.from(storeId, 'hex')).string(node);
}

function rejected(reason: SnapshotRejection, detail: string): SnapshotReading {
  return { kind: 'rejected', reason, detail };
}
