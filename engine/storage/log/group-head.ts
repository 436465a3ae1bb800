/** The head of a group, made again from its records when only the head has rotted. */
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
 * The head of the group at `position` of `bytes` and `at` of its file, whose records fill the bytes up to `end`. It says
 * that all before the group is durable, which is so once the group has been answered. Undefined when not every record is
 * sound, or they are not the records of one group.
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
