/**
 * The manifest: which node owns the directory, in which format it is written, and which segments count. A segment file
 * that it does not name does not count (a crash left it). A named segment that is missing was lost, and is reported.
 * Replacing the manifest is the single step by which a rotation or a merge takes effect.
 *
 *     copy      "LKMANIFS" | u32 version | u32 body bytes | u32 crc of the body | body
 *     body      16 bytes store id | string node name | u64 created, ms | u64 next segment number | varint count
 *               | segments
 *     segment   varint number | u8 kind | u8 sealed | varint length | varint lowest seq | varint highest seq
 *
 * The file holds two copies, the second at the next multiple of 4,096 bytes, so that one rotten sector does no harm.
 */
import type { ByteString } from '../../base/ids.ts';
import { ByteReader, ByteWriter, BytesError } from '../../base/bytes.ts';
import { crc32 } from '../../base/checksum.ts';
import { LockstepError } from '../../base/errors.ts';
import type { SegmentKind } from './record.ts';

/** Since format 2 a group may hold several batches, and records mark where one begins. Format 1 reads the same. */
const storeVersion = 2;
const storeVersionMin = 1;

/** What the manifest records of a segment. */
export interface ManifestSegment {
  readonly number: number;
  readonly kind: SegmentKind;
  /**
   * Nothing is appended any more, so `length`, `seqMin` and `seqMax` are valid. At most one segment, the last, is not
   * sealed.
   */
  readonly sealed: boolean;
  /** Bytes that count. */
  readonly length: number;
  /** Lowest and highest sequence number in the segment. */
  readonly seqMin: number;
  readonly seqMax: number;
}

/** The content of a manifest. */
export interface Manifest {
  /** 16 random bytes, made with the store. */
  readonly storeId: Buffer;
  readonly nodeName: string;
  /** Milliseconds since the epoch. */
  readonly createdMs: number;
  /**
   * Above the number of every log segment that any manifest has named, and not above that of any other log segment
   * (`recovery/unlisted-segments.ts`). Outputs of merges may have higher numbers.
   */
  readonly nextNumber: number;
  /** Ascending by number. */
  readonly segments: readonly ManifestSegment[];
}

/** Limit of the size of a manifest file that is read. */
export const manifestBytesMax = 64 * 1024 * 1024;
const magic = 'LKMANIFS';
const headBytes = 20;
const copyAlignment = 4096;

/** Encodes both copies in the current format. */
export function encodeManifest(manifest: Manifest): Buffer {
  const writer = new ByteWriter(256);
  writer
    .raw(manifest.storeId)
    .string(manifest.nodeName as ByteString)
    .u64(manifest.createdMs);
  writer.u64(manifest.nextNumber).varint(manifest.segments.length);
  for (const segment of manifest.segments) {
    writer
      .varint(segment.number)
      .u8(segment.kind === 'log' ? 0 : 1)
      .u8(segment.sealed ? 1 : 0);
    writer.varint(segment.length).varint(segment.seqMin).varint(segment.seqMax);
  }
  const body = writer.finish();
  const copyBytes = headBytes + body.length;
  const second = Math.ceil(copyBytes / copyAlignment) * copyAlignment;
  const bytes = Buffer.alloc(second + copyBytes);
  writeCopy(bytes, 0, body);
  writeCopy(bytes, second, body);
  return bytes;
}

/** A decoded manifest. */
export interface ManifestReading {
  readonly manifest: Manifest;
  /** Both copies were sound. */
  readonly whole: boolean;
}

/**
 * Decodes a manifest file. Throws `FormatUnsupported` for another format version, and `Corrupted` if neither copy is
 * sound.
 */
export function decodeManifest(bytes: Buffer): ManifestReading {
  const first = readCopy(bytes, 0);
  if (first !== undefined) {
    const second = Math.ceil(first.bytes / copyAlignment) * copyAlignment;
    return { manifest: first.manifest, whole: readCopy(bytes, second)?.bytes === first.bytes };
  }
  for (let at = copyAlignment; at < bytes.length; at += copyAlignment) {
    const second = readCopy(bytes, at);
    if (second !== undefined) return { manifest: second.manifest, whole: false };
  }
  // A later format may be checksummed differently: believes a version number although no checksum matches.
  if (bytes.length >= headBytes && bytes.toString('latin1', 0, 8) === magic)
    refuseVersion(bytes.readUInt32BE(8));
  throw new LockstepError('Corrupted', 'the manifest does not match its checksum, nor does its second copy');
}

function writeCopy(into: Buffer, at: number, body: Buffer): void {
  into.write(magic, at, 'latin1');
  into.writeUInt32BE(storeVersion, at + 8);
  into.writeUInt32BE(body.length, at + 12);
  into.writeUInt32BE(crc32(body, crc32(into.subarray(at, at + 16))), at + 16);
  body.copy(into, at + headBytes);
}

function readCopy(bytes: Buffer, at: number): { manifest: Manifest; bytes: number } | undefined {
  if (at + headBytes > bytes.length || bytes.toString('latin1', at, at + 8) !== magic) return undefined;
  const bodyBytes = bytes.readUInt32BE(at + 12);
  if (at + headBytes + bodyBytes > bytes.length) return undefined;
  const body = bytes.subarray(at + headBytes, at + headBytes + bodyBytes);
  if (crc32(body, crc32(bytes.subarray(at, at + 16))) !== bytes.readUInt32BE(at + 16)) return undefined;
  refuseVersion(bytes.readUInt32BE(at + 8));
  return { manifest: readBody(body), bytes: headBytes + bodyBytes };
}

function refuseVersion(version: number): void {
  if (version >= storeVersionMin && version <= storeVersion) return;
  throw new LockstepError(
    'FormatUnsupported',
    `the store is in format ${version}; this version of the program reads formats ${storeVersionMin} to ${storeVersion}`,
  );
}

function readBody(body: Buffer): Manifest {
  try {
    const reader = new ByteReader(body);
    const storeId = Buffer.from(reader.raw(16));
    const nodeName = reader.string();
    const createdMs = reader.u64();
    const nextNumber = reader.u64();
    const segments: ManifestSegment[] = [];
    for (let left = reader.varint(); left > 0; left--) segments.push(readSegment(reader));
    reader.end();
    return { storeId, nodeName, createdMs, nextNumber, segments };
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    throw new LockstepError('Corrupted', `the manifest is malformed: ${error.message}`, { cause: error });
  }
}

function readSegment(reader: ByteReader): ManifestSegment {
  const number = reader.varint();
  const kind = reader.u8() === 0 ? 'log' : 'merge';
  const sealed = reader.u8() === 1;
  return { number, kind, sealed, length: reader.varint(), seqMin: reader.varint(), seqMax: reader.varint() };
}
