/**
 * The encoding of a segment. Integers are big-endian. Every checksum is CRC-32 seeded with the segment's salt, which is
 * made from the store's id and the segment's number, so that bytes of another file or store never pass.
 *
 *     segment   = head, then groups, back to back
 *
 *     head      0 "LKSEGMNT" | 8 u32 version | 12 store id, 16 bytes | 28 u32 number | 32 u32 kind
 *     64 bytes  36 zeros | 60 u32 crc of 0..60 (unsalted)
 *
 *     group     0 "LGRP" | 4 u32 crc of 8..40 | 8 u32 at: the group's own offset in the file
 *     40 bytes  12 u32 body bytes | 16 u32 record count | 20 u64 sequence number of the first record
 *               28 u32 durable before: everything under this offset was synced when the group was written
 *               32 u32 xor of the records' key hashes | 36 u32 xor of their tokens
 *
 *     record    0 u32 crc of 4..28+key | 4 u32 crc of the value | 8 u64 sequence number | 16 u32 token
 *     28 bytes  20 u32 value bytes (0xffffffff: a removal) | 24 u16 key bytes | 26 u16 place | 28 key | value
 *
 * A group is one atomic batch, or several that one flush makes durable: after a crash it counts only if it is whole.
 * `at` detects misdirected writes. `durable before` tells a torn tail (never answered) from rot (answered once). The
 * two xors yield the key hash and token of the one record of a group that cannot be read.
 *
 * A record read on its own is checked on its own. Its `place` is 1 if it belongs to the batch of the record before it,
 * otherwise 0.
 */
import { u16At, u32At } from '../../base/big-endian.ts';
import { crc32, crc32Between, crc32OfView } from '../../base/checksum.ts';
import type { LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { HashList } from '../index/key-hash.ts';
import { putKey } from '../index/key-hash.ts';

/** One change of a batch. An undefined `value` removes the key (an object's tombstone, in contrast, is a value). */
export interface StoreWrite {
  readonly key: PackedKey;
  readonly token: Token;
  /** Copied while `write` runs; the caller may reuse it afterwards. */
  readonly value: Uint8Array | undefined;
}

/** Called once: without an error when the write is durable as the sync mode says. */
export type WriteDone = (error: LockstepError | undefined) => void;

/** Format version of segments and hint files; the manifest has the store's. */
export const formatVersion = 1;
/** Bytes of a segment's head. */
export const segmentHeadBytes = 64;
/** Bytes of a group's head. */
export const groupHeadBytes = 40;
/** Bytes of a record's head, without its key. */
export const recordHeadBytes = 28;
/** In place of a value's length: the record removes its key. */
export const removalMark = 0xffffffff;
/** Limit of a value's length in bytes. */
export const valueBytesMax = 0x7fffffff;
/** Limit of a key's length in bytes. */
export const keyBytesMax = 0xffff;

/** `log`: written by clients; sequence numbers ascend without gaps within a group. `merge`: copies, in any order. */
export type SegmentKind = 'log' | 'merge';

/** The seeds of one segment's checksums and hashes. */
export interface SegmentIdentity {
  readonly number: number;
  readonly kind: SegmentKind;
  /** Seeds every checksum in the segment. */
  readonly salt: number;
  /** Seeds the key hashes; the same for the whole store. */
  readonly hashSeed: number;
}

const segmentMagic = 'LKSEGMNT';
/** "LGRP". */
export const groupMagic = 0x4c475250;
/** The magic as bytes, for searching. */
export const groupMagicBytes = Buffer.from('LGRP', 'latin1');

/** The seeds of a segment. `storeId`: 16 bytes. */
export function segmentIdentity(storeId: Buffer, number: number, kind: SegmentKind): SegmentIdentity {
  const name = Buffer.alloc(4);
  name.writeUInt32BE(number, 0);
  const hashSeed = crc32(storeId);
  return { number, kind, salt: crc32(name, hashSeed), hashSeed };
}

/** The 64 bytes of a segment's head. `storeId`: 16 bytes. */
export function encodeSegmentHead(storeId: Buffer, number: number, kind: SegmentKind): Buffer {
  const head = Buffer.alloc(segmentHeadBytes);
  head.write(segmentMagic, 0, 'latin1');
  head.writeUInt32BE(formatVersion, 8);
  storeId.copy(head, 12);
  head.writeUInt32BE(number, 28);
  head.writeUInt32BE(kind === 'log' ? 0 : 1, 32);
  head.writeUInt32BE(crc32(head.subarray(0, 60)), 60);
  return head;
}

/** What a segment's head states. */
export interface SegmentHead {
  readonly storeId: Buffer;
  readonly number: number;
  readonly kind: SegmentKind;
}

/** Decodes a segment's head; undefined if it is not sound, or of another format. */
export function decodeSegmentHead(head: Buffer): SegmentHead | undefined {
  const storeId = Buffer.from(head.subarray(12, 28));
  const number = head.readUInt32BE(28);
  const kind = head.readUInt32BE(32) === 0 ? 'log' : 'merge';
  return head.equals(encodeSegmentHead(storeId, number, kind)) ? { storeId, number, kind } : undefined;
}

/** Encoded size of a batch that is a group of its own. */
export function groupBytes(batch: readonly StoreWrite[]): number {
  let bytes = groupHeadBytes;
  for (const write of batch) bytes += recordHeadBytes + write.key.length + (write.value?.length ?? 0);
  return bytes;
}

/** What a group's head states about its records, accumulated while they are written. */
export interface GroupSums {
  count: number;
  /** Exclusive-ors of the records' key hashes and of their tokens. */
  hashXor: number;
  tokenXor: number;
}

/**
 * Writes a batch's records at `position` of `into`, of which `view` is a view; returns the position after them. Adds
 * the keys' hashes to `hashes`, and the records to `sums`.
 */
export function encodeRecords(
  into: Buffer,
  view: DataView,
  position: number,
  batch: readonly StoreWrite[],
  identity: SegmentIdentity,
  firstSeq: number,
  hashes: HashList,
  sums: GroupSums,
): number {
  let next = position;
  let seq = firstSeq;
  for (const write of batch) {
    const keyAt = next + recordHeadBytes;
    const hash = putKey(write.key, into, keyAt, identity.hashSeed);
    hashes.push(hash);
    sums.hashXor ^= hash;
    sums.tokenXor ^= write.token;
    if (write.value !== undefined) into.set(write.value, keyAt + write.key.length);
    const valueBytes = write.value === undefined ? removalMark : write.value.length;
    const place = seq === firstSeq ? 0 : 1;
    next = sealRecord(view, next, seq, write.token, write.key.length, valueBytes, identity.salt, place);
    seq += 1;
  }
  sums.count += batch.length;
  return next;
}

/** Writes the head of a record whose key and value are in place; returns the position after the record. */
export function sealRecord(
  into: DataView,
  position: number,
  seq: number,
  token: number,
  keyBytes: number,
  valueBytes: number,
  salt: number,
  place: number,
): number {
  const valueAt = position + recordHeadBytes + keyBytes;
  const end = valueBytes === removalMark ? valueAt : valueAt + valueBytes;
  into.setUint32(position + 4, end === valueAt ? 0 : crc32OfView(into, valueAt, end, salt));
  into.setUint32(position + 8, Math.floor(seq / 0x100000000));
  into.setUint32(position + 12, seq);
  into.setUint32(position + 16, token);
  into.setUint32(position + 20, valueBytes);
  into.setUint32(position + 24, (keyBytes << 16) | place);
  into.setUint32(position, crc32OfView(into, position + 4, valueAt, salt));
  return end;
}

/** Writes the head of a group whose records are in place, from `position + groupHeadBytes` to `end`. */
export function sealGroup(
  into: DataView,
  position: number,
  end: number,
  salt: number,
  at: number,
  count: number,
  firstSeq: number,
  durableBefore: number,
  hashXor: number,
  tokenXor: number,
): void {
  into.setUint32(position, groupMagic);
  into.setUint32(position + 8, at);
  into.setUint32(position + 12, end - position - groupHeadBytes);
  into.setUint32(position + 16, count);
  into.setUint32(position + 20, Math.floor(firstSeq / 0x100000000));
  into.setUint32(position + 24, firstSeq);
  into.setUint32(position + 28, durableBefore);
  into.setUint32(position + 32, hashXor);
  into.setUint32(position + 36, tokenXor);
  into.setUint32(position + 4, crc32OfView(into, position + 8, position + groupHeadBytes, salt));
}

/** Sequence number of the record at `at`. These readers expect a record with a sound head. */
export function recordSeq(bytes: Buffer, at: number): number {
  return u32At(bytes, at + 8) * 0x100000000 + u32At(bytes, at + 12);
}

/** Token of the record at `at`. */
export function recordToken(bytes: Buffer, at: number): number {
  return u32At(bytes, at + 16);
}

/** Whether the record belongs to the same batch as the one before it. */
export function recordContinues(bytes: Buffer, at: number): boolean {
  return u16At(bytes, at + 26) === 1;
}

/** Length of the value, or `removalMark`. */
export function recordValueBytes(bytes: Buffer, at: number): number {
  return u32At(bytes, at + 20);
}

/** Length of the key. */
export function recordKeyBytes(bytes: Buffer, at: number): number {
  return u16At(bytes, at + 24);
}

/** As `recordSeq`, through a view. */
export function seqInView(view: DataView, at: number): number {
  return view.getUint32(at + 8) * 0x100000000 + view.getUint32(at + 12);
}

/** Token as a signed integer, which the runtime does not box. */
export function tokenBitsInView(view: DataView, at: number): number {
  return view.getInt32(at + 16);
}

/** As `recordValueBytes`, through a view. */
export function valueBytesInView(view: DataView, at: number): number {
  return view.getUint32(at + 20);
}

/** As `recordKeyBytes`, through a view. */
export function keyBytesInView(view: DataView, at: number): number {
  return view.getUint16(at + 24);
}

/** Size of a whole record with these lengths. */
export function recordBytes(keyBytes: number, valueBytes: number): number {
  return recordHeadBytes + keyBytes + (valueBytes === removalMark ? 0 : valueBytes);
}

/** Size of the record at `at` by its head, if it ends at or before `end`; otherwise 0. Checks no checksum. */
export function recordSpan(bytes: Buffer, at: number, end: number): number {
  if (at + recordHeadBytes > end) return 0;
  const span = recordBytes(recordKeyBytes(bytes, at), recordValueBytes(bytes, at));
  return at + span <= end ? span : 0;
}

/** Whether the record's head and key end at or before `end` and match their checksum. */
export function recordHeadIsSound(bytes: Buffer, at: number, end: number, salt: number): boolean {
  if (at + recordHeadBytes > end) return false;
  const keyEnd = at + recordHeadBytes + recordKeyBytes(bytes, at);
  if (keyEnd > end || u16At(bytes, at + 26) > 1) return false;
  return crc32Between(bytes, at + 4, keyEnd, salt) === u32At(bytes, at);
}

/** Whether the value of a record with a sound head ends at or before `end` and matches its checksum. */
export function recordValueIsSound(bytes: Buffer, at: number, end: number, salt: number): boolean {
  const span = recordSpan(bytes, at, end);
  if (span === 0) return false;
  const valueAt = at + recordHeadBytes + recordKeyBytes(bytes, at);
  const expected = valueAt === at + span ? 0 : crc32Between(bytes, valueAt, at + span, salt);
  return expected === u32At(bytes, at + 4);
}

/** Whether the group head at `position` of `bytes`, offset `at` of its file, is sound. */
export function groupHeadIsSound(bytes: Buffer, position: number, at: number, salt: number): boolean {
  if (position + groupHeadBytes > bytes.length) return false;
  if (u32At(bytes, position) !== groupMagic || u32At(bytes, position + 8) !== at) return false;
  return crc32Between(bytes, position + 8, position + groupHeadBytes, salt) === u32At(bytes, position + 4);
}

/** Bytes of the group's records. This and the next five read a sound group head. */
export function groupBodyBytes(bytes: Buffer, position: number): number {
  return u32At(bytes, position + 12);
}

/** Number of the group's records. */
export function groupCount(bytes: Buffer, position: number): number {
  return u32At(bytes, position + 16);
}

/** Sequence number of the group's first record. */
export function groupFirstSeq(bytes: Buffer, position: number): number {
  return u32At(bytes, position + 20) * 0x100000000 + u32At(bytes, position + 24);
}

/** Offset below which everything was durable when the group was written. */
export function groupDurableBefore(bytes: Buffer, position: number): number {
  return u32At(bytes, position + 28);
}

/** Exclusive-or of the records' key hashes. */
export function groupHashXor(bytes: Buffer, position: number): number {
  return u32At(bytes, position + 32);
}

/** Exclusive-or of the records' tokens. */
export function groupTokenXor(bytes: Buffer, position: number): number {
  return u32At(bytes, position + 36);
}
