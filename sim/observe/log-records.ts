/**
 * Reads the records of a store segment from the bytes of a disk. The format is that of engine/storage/log/record.ts.
 */
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

/** One record of a segment: `seq` is its store sequence number, `token` the ring position of its key. */
export interface LogRecord {
  readonly key: PackedKey;
  readonly seq: number;
  readonly token: number;
  /** A view of the segment's bytes; `damaged` when it does not match its checksum; undefined for a removal. */
  readonly value: Uint8Array | 'damaged' | undefined;
  /** Where the record lies in the segment, and how long it is. */
  readonly at: number;
  readonly bytes: number;
}

/** Offsets in a segment's head: store id, segment number, and kind (log or merge); see engine/storage/log/record.ts. */
const storeIdAt = 12;
const numberAt = 28;
const kindAt = 32;
const headEnd = 36;

/** The decoded head of a segment. */
export interface SegmentHead {
  /** The encoded head. */
  readonly bytes: Buffer;
  /** 32 hexadecimal digits. */
  readonly storeId: string;
  readonly salt: number;
  /** The segment is the output of a merge: it holds copies of other segments' records. */
  readonly merge: boolean;
}

/** The head as the file has it, sound or not; undefined while the file has no room for one. */
export function segmentHeadOf(content: Buffer): SegmentHead | undefined {
  if (content.length < segmentHeadBytes) return undefined;
  const storeId = content.subarray(storeIdAt, numberAt);
  const merge = content.readUInt32BE(kindAt) !== 0;
  const { salt } = segmentIdentity(storeId, content.readUInt32BE(numberAt), merge ? 'merge' : 'log');
  const bytes = Buffer.from(content.subarray(storeIdAt, headEnd));
  return { bytes, storeId: storeId.toString('hex'), salt, merge };
}

/**
 * Returns a reader for a file that is read repeatedly: the known one, or a new one when the file's head has changed.
 * `stated`: how to read the file, where more is known than the file's own head tells.
 */
export function tailOf(
  content: Buffer,
  known: SegmentTail | undefined,
  stated?: SegmentHead,
): SegmentTail | undefined {
  if (known !== undefined && content.length >= segmentHeadBytes) {
    const { bytes } = known.head;
    if (content.compare(bytes, 0, bytes.length, storeIdAt, headEnd) === 0) return known;
  }
  const head = stated ?? segmentHeadOf(content);
  if (head === undefined || head.salt === known?.head.salt) return known;
  return new SegmentTail(head);
}

/**
 * Follows a growing segment. Two writes may be in progress, and a disk may write one in parts. An unreadable stretch
 * between readable batches, a hole, is read again when something is written there.
 */
export class SegmentTail {
  readonly head: SegmentHead;
  /** Offset of the first batch that has not been read. */
  #at = segmentHeadBytes;
  /** Offset of the first earlier batch that was incomplete. */
  #hole: number | undefined;

  constructor(head: SegmentHead) {
    this.head = head;
  }

  /** Something before the end is unreadable; its missing bytes may still be written. */
  get hasHole(): boolean {
    return this.#hole !== undefined;
  }

  /**
   * Reads the new part of the file, whose bytes from `from` on have just been written. A record may be visited twice.
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
 * Visits the records of every whole batch from offset `from` on, and returns the offset of the first incomplete batch:
 * a batch counts as a whole or not at all. Where an offset holds no sound batch but one follows, calls `damaged` with
 * the offset and continues at the sound one. A batch with an unreadable record is treated the same way.
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
 * Visits every readable record of a sealed segment. Its batches were once complete, so the remaining records of a
 * damaged or truncated batch count. (The engine serves them too, and reports what is lost.)
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
      // A record with a rotten head is skipped if its stated length leads to a sound record.
      const span = recordSpan(content, place, end);
      if (span === 0 || !recordHeadIsSound(content, place + span, end, salt)) break;
      place += span;
    }
    at = end;
  }
}

function nextGroup(content: Buffer, from: number, salt: number): number | undefined {
  // Most reads end at the end of the file.
  if (from + groupHeadBytes > content.length) return undefined;
  let at = content.indexOf(groupMagicBytes, from);
  while (at >= 0 && !groupHeadIsSound(content, at, at, salt)) at = content.indexOf(groupMagicBytes, at + 1);
  return at < 0 ? undefined : at;
}

/** Returns the offset where reading stopped: the end of the group, unless a record in it is unreadable. */
function readGroup(
  content: Buffer,
  from: number,
  end: number,
  salt: number,
  visit: (record: LogRecord) => void,
): number {
  let at = from;
  while (at < end && recordHeadIsSound(content, at, end, salt)) {
    const span = recordSpan(content, at, end);
    visit(recordAt(content, at, end, salt, span));
    if (span === 0) break;
    at += span;
  }
  return at;
}

function recordAt(content: Buffer, at: number, end: number, salt: number, span: number): LogRecord {
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
    at,
    bytes: span,
  };
}
