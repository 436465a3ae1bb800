/** The records of a segment of a store, read off a disk's bytes (engine/storage/log/record.ts says how they lie there). */
import type { PackedKey } from '../../engine/base/object-key.ts';
import {
  groupBodyBytes,
  groupHeadBytes,
  groupHeadIsSound,
  groupMagicBytes,
  recordHeadBytes,
  recordHeadIsSound,
  recordKeyBytes,
  recordSeq,
  recordSpan,
  recordToken,
  recordValueBytes,
  recordValueIsSound,
  removalMark,
  segmentHeadBytes,
  segmentIdentity,
} from '../../engine/storage/log/record.ts';

export interface LogRecord {
  readonly key: PackedKey;
  readonly seq: number;
  readonly token: number;
  /** A view of the segment's bytes; `damaged` when it does not match its checksum; undefined for a removal. */
  readonly value: Uint8Array | 'damaged' | undefined;
}

/** Where the head of a segment says whose it is, its number, and whether it holds copies (engine/storage/log/record.ts). */
const storeIdAt = 12;
const numberAt = 28;
const kindAt = 32;
const headEnd = 36;

/** What a segment's head says. */
export interface SegmentHead {
  /** The bytes that say it. */
  readonly bytes: Buffer;
  /** 32 hexadecimal digits. */
  readonly storeId: string;
  readonly salt: number;
  /** It holds copies of other segments' records. */
  readonly merge: boolean;
}

/** Undefined while the head is not written. */
export function segmentHeadOf(content: Buffer): SegmentHead | undefined {
  if (content.length < segmentHeadBytes) return undefined;
  const storeId = content.subarray(storeIdAt, numberAt);
  const merge = content.readUInt32BE(kindAt) !== 0;
  const { salt } = segmentIdentity(storeId, content.readUInt32BE(numberAt), merge ? 'merge' : 'log');
  const bytes = Buffer.from(content.subarray(storeIdAt, headEnd));
  return { bytes, storeId: storeId.toString('hex'), salt, merge };
}

/** The reader of a file that is read again and again: the one known, or another one when the file's head is another. */
export function tailOf(content: Buffer, known: SegmentTail | undefined): SegmentTail | undefined {
  if (known !== undefined && content.length >= segmentHeadBytes) {
    const { bytes } = known.head;
    if (content.compare(bytes, 0, bytes.length, storeIdAt, headEnd) === 0) return known;
  }
  const head = segmentHeadOf(content);
  if (head === undefined || head.salt === known?.head.salt) return known;
  return new SegmentTail(head);
}

/**
 * How far a growing segment has been read. Two writes may be under way, and a disk may write one in parts: what was
 * read around them, a hole, is read again when something is written there.
 */
export class SegmentTail {
  readonly head: SegmentHead;
  /** Where the first batch begins that has not been read yet. */
  #at = segmentHeadBytes;
  /** Where the first batch before that begins that was not whole. */
  #hole: number | undefined;

  constructor(head: SegmentHead) {
    this.head = head;
  }

  /** Something before the end cannot be made out: what it lacks may still be written. */
  get hasHole(): boolean {
    return this.#hole !== undefined;
  }

  /**
   * Reads what is new in the file, of which the bytes from `from` on have just been written; a record may come again.
   * Damaged records are visited too, and their batch is a hole.
   */
  read(content: Buffer, from: number, visit: (record: LogRecord) => void): void {
    const again = this.#hole !== undefined && this.#hole <= from && from < this.#at;
    const at = again ? this.#hole : Math.min(this.#at, Math.max(from, segmentHeadBytes));
    if (again) this.#hole = undefined;
    const open = (place: number): void => {
      this.#hole = Math.min(this.#hole ?? place, place);
    };
    const take = (record: LogRecord, batchAt: number): void => {
      if (record.value === 'damaged') open(batchAt);
      visit(record);
    };
    this.#at = readRecords(content, at ?? segmentHeadBytes, this.head.salt, take, open);
  }
}

/**
 * Visits the records of every whole batch from `from` on, the place of a batch; gives the place of the first that is
 * not whole (a batch counts whole or not at all). Where a place is none and a sound batch comes behind it, `damaged` is
 * called with the place, and the walk goes on there; so it is for a batch with a record that cannot be made out.
 */
export function readRecords(
  content: Buffer,
  from: number,
  salt: number,
  visit: (record: LogRecord, batchAt: number) => void,
  damaged: (at: number) => void = () => undefined,
): number {
  let at = from;
  for (;;) {
    if (!groupHeadIsSound(content, at, at, salt)) {
      const next = nextGroup(content, at + 1, salt);
      if (next === undefined) break;
      damaged(at);
      at = next;
    }
    const end = at + groupHeadBytes + groupBodyBytes(content, at);
    if (end > content.length) break;
    const batchAt = at;
    at = readGroup(content, batchAt + groupHeadBytes, end, salt, (record) => visit(record, batchAt));
    if (at < end) damaged(batchAt);
    at = end;
  }
  return at;
}

/**
 * Visits every record of a sealed segment that can be made out: its batches were whole once, so what is left of one
 * that was damaged or cut short counts. (The engine serves it too, and says what is lost.)
 */
export function readSealedRecords(content: Buffer, salt: number, visit: (record: LogRecord) => void): void {
  for (let at = segmentHeadBytes; at + groupHeadBytes < content.length;) {
    const stated = groupHeadIsSound(content, at, at, salt)
      ? at + groupHeadBytes + groupBodyBytes(content, at)
      : (nextGroup(content, at + 1, salt) ?? content.length);
    const end = Math.min(stated, content.length);
    let place = at + groupHeadBytes;
    while (place < end) {
      place = readGroup(content, place, end, salt, visit);
      // A record whose head has rotted is stepped over where its stated length leads to a sound one.
      const span = recordSpan(content, place, end);
      if (span === 0 || !recordHeadIsSound(content, place + span, end, salt)) break;
      place += span;
    }
    at = end;
  }
}

function nextGroup(content: Buffer, from: number, salt: number): number | undefined {
  // Most readings end with the file.
  if (from + groupHeadBytes > content.length) return undefined;
  let at = content.indexOf(groupMagicBytes, from);
  while (at >= 0 && !groupHeadIsSound(content, at, at, salt)) at = content.indexOf(groupMagicBytes, at + 1);
  return at < 0 ? undefined : at;
}

/** Answers where it stopped: at the end of the group, unless a record in it cannot be read. */
function readGroup(
  content: Buffer,
  from: number,
  end: number,
  salt: number,
  visit: (record: LogRecord) => void,
): number {
  let at = from;
  while (at < end && recordHeadIsSound(content, at, end, salt)) {
    visit(recordAt(content, at, end, salt));
    const span = recordSpan(content, at, end);
    if (span === 0) break;
    at += span;
  }
  return at;
}

function recordAt(content: Buffer, at: number, end: number, salt: number): LogRecord {
  const keyEnd = at + recordHeadBytes + recordKeyBytes(content, at);
  const key = content.toString('latin1', at + recordHeadBytes, keyEnd) as PackedKey;
  const bytes = recordValueBytes(content, at);
  const sound = recordValueIsSound(content, at, end, salt);
  const value = bytes === removalMark ? undefined : content.subarray(keyEnd, keyEnd + bytes);
  return {
    key,
    seq: recordSeq(content, at),
    token: recordToken(content, at),
    value: value === undefined || sound ? value : 'damaged',
  };
}
