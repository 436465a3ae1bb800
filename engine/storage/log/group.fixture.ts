/** Encodes a batch as a group of its own, for tests that read what a store wrote. */
import type { HashList } from '../index/key-hash.ts';
import type { GroupSums, SegmentIdentity, StoreWrite } from './record.ts';
import { encodeRecords, groupHeadBytes, sealGroup } from './record.ts';

/**
 * Writes a batch as a group at `position` of `into`, of which `view` is a view; returns the position after it. Adds the
 * keys' hashes to `hashes`.
 */
export function encodeGroup(
  into: Buffer,
  view: DataView,
  position: number,
  batch: readonly StoreWrite[],
  identity: SegmentIdentity,
  at: number,
  firstSeq: number,
  durableBefore: number,
  hashes: HashList,
): number {
  const sums: GroupSums = { count: 0, hashXor: 0, tokenXor: 0 };
  const end = encodeRecords(into, view, position + groupHeadBytes, batch, identity, firstSeq, hashes, sums);
  const { count, hashXor, tokenXor } = sums;
  sealGroup(view, position, end, identity.salt, at, count, firstSeq, durableBefore, hashXor, tokenXor);
  return end;
}
