/** Recomputes the head of a group from its records when only the head has rotted. */
import { viewOf } from '../../base/views.ts';
import { hashKey } from '../index/key-hash.ts';
import type { SegmentIdentity } from './record.ts';
import {
  groupHeadBytes,
  recordHeadBytes,
  recordHeadIsSound,
  recordKeyBytes,
  recordSeq,
  recordSpan,
  recordToken,
  recordValueIsSound,
  sealGroup,
} from './record.ts';

/**
 * The head of the group at `position` of `bytes` and offset `at` of its file, whose records fill the bytes up to `end`.
 * It states that everything before the group is durable, which is true once the group has been answered. Undefined if a
 * record is not sound, or if the records do not form one group.
 */
export function headOfRecords(
  bytes: Buffer,
  position: number,
  end: number,
  at: number,
  { salt, kind, hashSeed }: SegmentIdentity,
): Buffer | undefined {
  const first = position + groupHeadBytes;
  const firstSeq = recordSeq(bytes, first);
  let count = 0;
  let hash = 0;
  let token = 0;
  for (let place = first; place < end; place += recordSpan(bytes, place, end)) {
    if (!recordHeadIsSound(bytes, place, end, salt) || !recordValueIsSound(bytes, place, end, salt))
      return undefined;
    if (kind === 'log' && recordSeq(bytes, place) !== firstSeq + count) return undefined;
    hash ^= hashKey(bytes, place + recordHeadBytes, recordKeyBytes(bytes, place), hashSeed);
    token ^= recordToken(bytes, place);
    count += 1;
  }
  const head = Buffer.alloc(groupHeadBytes);
  sealGroup(viewOf(head), 0, end - position, salt, at, count, firstSeq, at, hash, token);
  return head;
}
