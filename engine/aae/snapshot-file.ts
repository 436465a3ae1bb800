/**
 * The bytes of a tree's snapshot.
 *
 *     head      "LKAAETRE" | u32 format version | u32 segments | u32 fan-out | 16 bytes store id
 *               | varint length and name of the node | u64 store position
 *     payload   per segment: u32 high | u32 low | u32 keys (0xffffffff: the segment was dirty)
 *     end       u32 crc of everything before
 *
 * The checksum is the last four bytes in every version, so damage and another version can be told apart.
 */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import { crc32 } from '../base/checksum.ts';
import type { ByteString } from '../base/ids.ts';
import { Tree, fanout } from './tree.ts';

export const snapshotVersion = 1;

/** Whose tree it is, and of what shape. */
export interface SnapshotShape {
  readonly segmentBits: number;
  readonly node: ByteString;
  /** 32 hexadecimal digits. */
  readonly storeId: string;
}

export type SnapshotRejection = 'Corrupted' | 'VersionSkew' | 'BadShape';

export type SnapshotReading =
  | {
      readonly kind: 'read';
      readonly tree: Tree;
      /** The tree holds for every record up to this sequence number. */
      readonly position: number;
    }
  | { readonly kind: 'rejected'; readonly reason: SnapshotRejection; readonly detail: string };

const magic = 'LKAAETRE';
const dirtyMark = 0xffffffff;
const entryBytes = 12;

/** More than any tree's snapshot has. */
export const snapshotBytesMax = 64 * 1024 * 1024;

export function encodeSnapshot(tree: Tree, shape: SnapshotShape, position: number): Buffer {
  const writer = new ByteWriter(256 + tree.segmentCount * entryBytes);
  writer.raw(Buffer.from(magic, 'latin1')).u32(snapshotVersion);
  writeShape(writer, shape);
  writer.u64(position);
  for (let segment = 0; segment < tree.segmentCount; segment++) {
    const { high, low } = tree.hashOf(segment);
    writer
      .u32(high)
      .u32(low)
      .u32(tree.isDirty(segment) ? dirtyMark : tree.countOf(segment));
  }
  const body = writer.finish();
  const end = Buffer.alloc(4);
  end.writeUInt32BE(crc32(body));
  return Buffer.concat([body, end]);
}

/** Reads a snapshot for this tree's shape, or says why it is of no use. */
export function decodeSnapshot(bytes: Buffer, shape: SnapshotShape): SnapshotReading {
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
  return readTree(reader, shape.segmentBits);
}

function readTree(reader: ByteReader, segmentBits: number): SnapshotReading {
  const tree = new Tree(segmentBits);
  try {
    const position = reader.u64();
    for (let segment = 0; segment < tree.segmentCount; segment++) {
      const hash = { high: reader.u32(), low: reader.u32() };
      const count = reader.u32();
      if (count === dirtyMark) continue;
      tree.take(segment);
      tree.settle(segment, count, hash);
    }
    reader.end();
    return { kind: 'read', tree, position };
  } catch (error) {
    if (error instanceof BytesError) return rejected('Corrupted', error.message);
    throw error;
  }
}

function writeShape(writer: ByteWriter, { segmentBits, storeId, node }: SnapshotShape): void {
  writer.u32(1 << segmentBits).u32(fanout);
  writer.raw(Buffer.from(storeId, 'hex')).string(node);
}

function rejected(reason: SnapshotRejection, detail: string): SnapshotReading {
  return { kind: 'rejected', reason, detail };
}
