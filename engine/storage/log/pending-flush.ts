/**
 * Collects the batches of one flush. They are encoded as they come and share the head of a group, which is written when
 * no further batch joins it. All writers of a flush are answered together or not at all, so a crash that takes a whole
 * group loses nothing that was answered. A head and a checksum less saves a fifth of the bytes of a small write.
 */
import { failAssertion } from '../../base/assert.ts';
import type { Chunk, Chunks } from './chunks.ts';
import type { GroupSums, SegmentIdentity, StoreWrite, WriteDone } from './record.ts';
import { encodeRecords, groupHeadBytes, sealGroup } from './record.ts';

/** A longer group takes no further batch, which bounds what is lost when its head rots. */
const groupBytesMax = 32 * 1024;

/** A flush that still takes batches. */
export interface PendingFlush {
  readonly identity: SegmentIdentity;
  readonly at: number;
  end: number;
  /** The disk has reported all bytes below this offset durable (with `interval`: written). Below `at` until then. */
  safeBefore: number;
  readonly chunks: Chunk[];
  readonly dones: WriteDone[];
  /** It is answered after a sync, whatever the sync mode. */
  mustSync: boolean;
  /** The last group, whose head is not written yet. */
  group: OpenGroup | undefined;
}

/** A group that further batches may join: the last one in its chunk. */
interface OpenGroup extends GroupSums {
  readonly chunk: Chunk;
  /** Its position in the chunk and its offset in the file. */
  readonly position: number;
  readonly at: number;
  readonly firstSeq: number;
}

/**
 * Adds a batch to the flush. `bytes` is its size as a group of its own; `firstSeq` numbers its first record; everything
 * below `durableBefore` of the segment is known to be durable.
 */
export function gather(
  gathering: PendingFlush,
  batch: readonly StoreWrite[],
  bytes: number,
  firstSeq: number,
  durableBefore: number,
  chunks: Chunks,
): void {
  const group = joinable(gathering, bytes) ?? beginGroup(gathering, bytes, firstSeq, durableBefore, chunks);
  const { chunk } = group;
  const { buffer, view, used, hashes } = chunk;
  chunk.used = encodeRecords(buffer, view, used, batch, gathering.identity, firstSeq, hashes, group);
  gathering.end += chunk.used - used;
}

/** Writes the head of the last group, which no batch joins any more. */
export function sealLastGroup(gathering: PendingFlush, durableBefore: number): void {
  const { group, identity } = gathering;
  if (group === undefined) return;
  const { chunk, position, at, firstSeq, count, hashXor, tokenXor } = group;
  const { view, used } = chunk;
  // A start takes what is unreadable below that offset for damage, and above it for what a crash left.
  if (durableBefore > at) failAssertion('a group calls durable only what lies before it', durableBefore, at);
  sealGroup(view, position, used, identity.salt, at, count, firstSeq, durableBefore, hashXor, tokenXor);
  gathering.group = undefined;
}

function joinable({ group }: PendingFlush, bytes: number): OpenGroup | undefined {
  if (group === undefined) return undefined;
  const { chunk, position } = group;
  const end = chunk.used + bytes - groupHeadBytes;
  return end - position <= groupBytesMax && end <= chunk.buffer.length ? group : undefined;
}

function beginGroup(
  gathering: PendingFlush,
  bytes: number,
  firstSeq: number,
  durableBefore: number,
  chunks: Chunks,
): OpenGroup {
  sealLastGroup(gathering, durableBefore);
  const chunk = chunkFor(gathering, bytes, chunks);
  const { used: position } = chunk;
  const group = { chunk, position, at: gathering.end, firstSeq, count: 0, hashXor: 0, tokenXor: 0 };
  chunk.used += groupHeadBytes;
  gathering.end += groupHeadBytes;
  gathering.group = group;
  return group;
}

function chunkFor({ chunks, end }: PendingFlush, bytes: number, spares: Chunks): Chunk {
  const last = chunks.at(-1);
  if (last !== undefined && last.used + bytes <= last.buffer.length) return last;
  const chunk = spares.take(bytes, end);
  chunks.push(chunk);
  return chunk;
}
