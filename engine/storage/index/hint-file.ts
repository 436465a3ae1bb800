/**
 * Hint files: where the records of one sealed segment are, so that a start reads keys and not values. A hint file
 * counts only if every checksum, the version, the segment's number and its length match. Otherwise it is ignored and
 * counted, and the segment itself is scanned. It is written under a temporary name and renamed, and is never required.
 *
 *     file      head | blocks
 *     head      "LKHINTFL" | u32 version | u32 segment number | u64 segment length | u64 record count | u32 block count
 *     40 bytes  | u32 crc of 0..36
 *     block     u32 crc of 4..end | u32 index | u32 body bytes | body: entries
 *     entry     u64 sequence number | u32 token | u32 offset | u32 value bytes | u16 key bytes | key
 *
 * Checksums are seeded with the complement of the segment's salt, so that a segment's bytes never pass as a hint's.
 */
import { crc32 } from '../../base/checksum.ts';
import type { Disk, DiskFile } from '../../io/disk.ts';
import { DiskError, readFully, writeFully } from '../../io/disk.ts';
import { hintName } from '../log/file-names.ts';
import type { SegmentIdentity } from '../log/record.ts';
import {
  formatVersion,
  recordHeadBytes,
  recordKeyBytes,
  recordSeq,
  recordToken,
  recordValueBytes,
} from '../log/record.ts';

const magic = 'LKHINTFL';
const headBytes = 40;
const blockHeadBytes = 12;
/** Bytes of an entry without its key. */
export const hintEntryBytes = 22;
const blockBodyBytes = 64 * 1024;
const blockBytesMax = blockHeadBytes + blockBodyBytes + hintEntryBytes + 0xffff;

/** Takes one entry. The key's bytes are at `keyAt` of `bytes` and valid during the call only. */
export type HintVisitor = (
  bytes: Buffer,
  keyAt: number,
  keyBytes: number,
  seq: number,
  token: number,
  offset: number,
  valueBytes: number,
) => void;

/** Writes the hint file of a segment that is being written or scanned. Holds one block in memory. */
export class HintWriter {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #salt: number;
  readonly #number: number;
  #file: DiskFile | undefined;
  #block = Buffer.allocUnsafe(blockBytesMax);
  #end = blockHeadBytes;
  #full: Buffer[] = [];
  #fileEnd = headBytes;
  #blockCount = 0;
  #recordCount = 0;

  constructor(disk: Disk, directory: string, identity: SegmentIdentity) {
    this.#disk = disk;
    this.#path = `${directory}/${hintName(identity.number)}`;
    this.#salt = hintSalt(identity);
    this.#number = identity.number;
  }

  /** Adds the record at `at` of `bytes`, whose offset in the segment is `offset`. */
  add(bytes: Buffer, at: number, offset: number): void {
    const block = this.#block;
    const keyBytes = recordKeyBytes(bytes, at);
    const seq = recordSeq(bytes, at);
    const end = this.#end;
    block.writeUInt32BE(Math.floor(seq / 0x100000000), end);
    block.writeUInt32BE(seq >>> 0, end + 4);
    block.writeUInt32BE(recordToken(bytes, at), end + 8);
    block.writeUInt32BE(offset, end + 12);
    block.writeUInt32BE(recordValueBytes(bytes, at), end + 16);
    block.writeUInt16BE(keyBytes, end + 20);
    bytes.copy(block, end + hintEntryBytes, at + recordHeadBytes, at + recordHeadBytes + keyBytes);
    this.#end = end + hintEntryBytes + keyBytes;
    this.#recordCount += 1;
    if (this.#end - blockHeadBytes >= blockBodyBytes) this.#closeBlock();
  }

  /** Writes the full blocks. */
  async drain(): Promise<void> {
    if (this.#full.length === 0) return;
    const full = this.#full;
    this.#full = [];
    this.#file ??= await openEmpty(this.#disk, `${this.#path}.new`);
    this.#fileEnd += await writeFully(this.#file, full, this.#fileEnd);
  }

  /** Completes the file for a segment of `length` bytes and renames it into place. */
  async finish(length: number): Promise<void> {
    if (this.#end > blockHeadBytes) this.#closeBlock();
    await this.drain();
    const file = (this.#file ??= await openEmpty(this.#disk, `${this.#path}.new`));
    const head = Buffer.alloc(headBytes);
    head.write(magic, 0, 'latin1');
    head.writeUInt32BE(formatVersion, 8);
    head.writeUInt32BE(this.#number, 12);
    head.writeBigUInt64BE(BigInt(length), 16);
    head.writeBigUInt64BE(BigInt(this.#recordCount), 24);
    head.writeUInt32BE(this.#blockCount, 32);
    head.writeUInt32BE(crc32(head.subarray(0, 36), this.#salt), 36);
    await writeFully(file, [head], 0);
    await file.sync();
    await this.#close();
    await this.#disk.rename(`${this.#path}.new`, this.#path);
  }

  /** Removes what was written. */
  async abandon(): Promise<void> {
    if (this.#file === undefined) return;
    await this.#close();
    await this.#disk.remove(`${this.#path}.new`);
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  #closeBlock(): void {
    const bytes = this.#end;
    const block = this.#block;
    block.writeUInt32BE(this.#blockCount, 4);
    block.writeUInt32BE(bytes - blockHeadBytes, 8);
    block.writeUInt32BE(crc32(block.subarray(4, bytes), this.#salt), 0);
    this.#full.push(block.subarray(0, bytes));
    this.#block = Buffer.allocUnsafe(blockBytesMax);
    this.#end = blockHeadBytes;
    this.#blockCount += 1;
  }
}

/** Whether a hint file was usable, missing, or ignored. */
export type HintReading = 'sound' | 'absent' | 'bad';

/**
 * Passes every entry of the segment's hint file to `visit`, in order. If the result is `bad`, the file must be ignored;
 * entries passed before the bad place are still true (each came from a block that matches its checksum).
 */
export async function readHint(
  disk: Disk,
  directory: string,
  identity: SegmentIdentity,
  segmentLength: number,
  visit: HintVisitor,
  rest?: () => Promise<void>,
): Promise<HintReading> {
  const path = `${directory}/${hintName(identity.number)}`;
  try {
    if ((await disk.size(path)) === undefined) return 'absent';
    const file = await disk.open(path, 'read');
    try {
      return await readEntries(file, identity, segmentLength, visit, rest);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof DiskError) return 'bad';
    throw error;
  }
}

async function readEntries(
  file: DiskFile,
  identity: SegmentIdentity,
  segmentLength: number,
  visit: HintVisitor,
  rest: (() => Promise<void>) | undefined,
): Promise<HintReading> {
  const salt = hintSalt(identity);
  const head = Buffer.alloc(headBytes);
  if ((await readFully(file, head, 0)) < headBytes) return 'bad';
  if (!headFits(head, identity, segmentLength, salt)) return 'bad';
  const blockCount = head.readUInt32BE(32);
  const storage = Buffer.allocUnsafeSlow(readBytes);
  let held = storage.subarray(0, 0);
  let fileAt = headBytes;
  let records = 0;
  for (let index = 0; index < blockCount; index++) {
    let block = blockIn(held);
    if (block === undefined) {
      // The rest of the last read is the beginning of a block: reads on from there.
      fileAt -= held.length;
      const count = await readFully(file, storage, fileAt);
      fileAt += count;
      held = storage.subarray(0, count);
      block = blockIn(held);
    }
    if (block === undefined || block.readUInt32BE(4) !== index) return 'bad';
    if (crc32(block.subarray(4), salt) !== block.readUInt32BE(0)) return 'bad';
    records += visitBlock(block, visit);
    if (rest !== undefined) await rest();
    held = held.subarray(block.length);
  }
  return records === Number(head.readBigUInt64BE(24)) ? 'sound' : 'bad';
}

const readBytes = 1024 * 1024;

function headFits(head: Buffer, identity: SegmentIdentity, segmentLength: number, salt: number): boolean {
  return (
    head.toString('latin1', 0, 8) === magic &&
    crc32(head.subarray(0, 36), salt) === head.readUInt32BE(36) &&
    head.readUInt32BE(8) === formatVersion &&
    head.readUInt32BE(12) === identity.number &&
    Number(head.readBigUInt64BE(16)) === segmentLength
  );
}

/** The block at the front of `held`; undefined if it is not complete. */
function blockIn(held: Buffer): Buffer | undefined {
  if (held.length < blockHeadBytes) return undefined;
  const bytes = blockHeadBytes + held.readUInt32BE(8);
  return bytes <= held.length ? held.subarray(0, bytes) : undefined;
}

function visitBlock(block: Buffer, visit: HintVisitor): number {
  let count = 0;
  for (let at = blockHeadBytes; at < block.length; count++) {
    const seq = block.readUInt32BE(at) * 0x100000000 + block.readUInt32BE(at + 4);
    const keyBytes = block.readUInt16BE(at + 20);
    const keyAt = at + hintEntryBytes;
    const token = block.readUInt32BE(at + 8);
    visit(block, keyAt, keyBytes, seq, token, block.readUInt32BE(at + 12), block.readUInt32BE(at + 16));
    at = keyAt + keyBytes;
  }
  return count;
}

function hintSalt(identity: SegmentIdentity): number {
  return ~identity.salt >>> 0;
}

async function openEmpty(disk: Disk, path: string): Promise<DiskFile> {
  const file = await disk.open(path, 'readWrite');
  try {
    await file.truncate(0);
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}
