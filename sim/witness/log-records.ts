/** The records of a segment of a store, read off a disk's bytes (engine/store/record.ts says how they lie there). */
import type { PackedKey } from '../../engine/base/object-key.ts';
import {
  groupBodyBytes,
  groupHeadBytes,
  groupHeadIsSound,
  recordHeadBytes,
  recordHeadIsSound,
  recordKeyBytes,
  recordSeq,
  recordSpan,
  recordToken,
  recordValueBytes,
  recordValueIsSound,
  removalMark,
} from '../../engine/store/record.ts';

export interface LogRecord {
  readonly key: PackedKey;
  readonly seq: number;
  readonly token: number;
  /** A view of the segment's bytes; `damaged` when it does not match its checksum; undefined for a removal. */
  readonly value: Uint8Array | 'damaged' | undefined;
}

/**
 * Visits the records of every whole batch from `from` on, the place of a batch; gives the place of the first that is
 * not whole (a batch counts whole or not at all).
 */
export function readRecords(
  content: Buffer,
  from: number,
  salt: number,
  visit: (record: LogRecord) => void,
): number {
  let at = from;
  while (at + groupHeadBytes <= content.length && groupHeadIsSound(content, at, at, salt)) {
    const end = at + groupHeadBytes + groupBodyBytes(content, at);
    if (end > content.length) break;
    readGroup(content, at + groupHeadBytes, end, salt, visit);
    at = end;
  }
  return at;
}

function readGroup(
  content: Buffer,
  from: number,
  end: number,
  salt: number,
  visit: (record: LogRecord) => void,
): void {
  let at = from;
  while (at < end && recordHeadIsSound(content, at, end, salt)) {
    visit(recordAt(content, at, end, salt));
    at += recordSpan(content, at, end);
  }
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
