/**
 * Reads every value of an open store again, segment by segment from front to back, to build anti-entropy's trees.
 * Walking the log costs a tenth of reading the keys one by one. It also reads the disk under values that are still in
 * memory, and so finds bit rot.
 *
 * Rejects with `StorageFailed` if the disk fails, once it has read the other segments. A visited value is its key's
 * newest at the instant of the call. Writes continue meanwhile; records of segments that begin after the walk did are
 * not visited. If only the head of a group has rotted, it is rewritten.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import type { DiskFile } from '../../io/disk.ts';
import { writeFullyDurably } from '../../io/disk.ts';
import type { Catalog } from '../log/segment-catalog.ts';
import type { Damages, DamageFinder } from './damage.ts';
import type { KeyDirectory } from '../index/key-directory.ts';
import { asStoreError } from '../faults.ts';
import {
  recordBytes,
  recordHeadBytes,
  recordKeyBytes,
  recordToken,
  recordValueBytes,
} from '../log/record.ts';
import type { Breach } from './scan-visitor.ts';
import { strict } from './scan-visitor.ts';
import { scanSegment } from './scan.ts';
import type { Segment } from '../log/segment.ts';

/**
 * Called with a key's newest value. The key, and behind it the value, are in `bytes`, which are valid during the call
 * only.
 */
export type ValueVisitor = (
  id: number,
  bytes: Buffer,
  keyAt: number,
  valueAt: number,
  valueBytes: number,
) => void;

/** What a background scan needs of the store. */
export interface RescanContext {
  readonly catalog: Catalog;
  readonly keys: KeyDirectory;
  readonly book: Damages;
  /** Called when the key's newest record, in this segment, cannot be read. */
  readonly lost: (id: number, segment: Segment, foundBy: DamageFinder) => void;
}

/**
 * Visits all values. Calls `rest` after each window and at the end of each segment, with the values seen since the last
 * call. If the disk refuses a part of a segment, the other segments are visited before this rejects.
 */
export async function rescanValues(
  context: RescanContext,
  visit: ValueVisitor,
  rest: (values: number) => Promise<void>,
): Promise<void> {
  let refusal: LockstepError | undefined;
  for (const segment of [...context.catalog.segments]) {
    if (segment.retired || segment.file === undefined) continue;
    segment.enter();
    try {
      await rescanSegment(context, segment, visit, rest);
    } catch (error) {
      if (!(error instanceof LockstepError) || error.code !== 'StorageFailed') throw error;
      refusal ??= error;
    } finally {
      segment.leave();
    }
  }
  if (refusal !== undefined) throw refusal;
}

async function rescanSegment(
  context: RescanContext,
  segment: Segment,
  visit: ValueVisitor,
  rest: (values: number) => Promise<void>,
): Promise<void> {
  const { keys } = context;
  const { file, number } = segment;
  if (file === undefined) return;
  const breaches: Breach[] = [];
  let seen = 0;
  /** The id of the key whose newest record this is; 0 if a newer one exists. */
  const newest = (bytes: Buffer, at: number, offset: number): number => {
    const id = keys.findBytes(bytes, at + recordHeadBytes, recordKeyBytes(bytes, at));
    return id !== 0 && keys.segmentOf(id) === number && keys.offsetOf(id) === offset ? id : 0;
  };
  const pause = async (): Promise<void> => {
    const values = seen;
    seen = 0;
    await rest(values);
  };
  await scanSegment(
    strict(file),
    segment.identity,
    {
      record: (bytes, at, offset) => {
        seen += 1;
        const id = newest(bytes, at, offset);
        if (id === 0 || keys.isSystem(id) || keys.stateOf(id) !== 'live') return;
        const keyAt = at + recordHeadBytes;
        const keyBytes = keys.keyBytesOf(id);
        const { book } = context;
        if (book.suspicious && book.doubts(keys.hashBytes(bytes, keyAt, keyBytes), keys.seqOf(id))) return;
        visit(id, bytes, keyAt, keyAt + keyBytes, keys.valueBytesOf(id));
      },
      lostValue: (bytes, at, offset) => {
        const id = newest(bytes, at, offset);
        if (id !== 0) context.lost(id, segment, 'verify');
        else noteDead(context, segment, bytes, at, offset);
      },
      breach: (breach) => breaches.push(breach),
    },
    // Everything that was ever answered is below this length, in the open segment too.
    { sealedLength: segment.length, rest: pause },
  );
  for (const breach of breaches) {
    if (breach.head !== undefined) await repairHead(context, segment, file, breach, breach.head);
    else if (loseWithin(context, segment, breach, 'verify') === 0) noteDeadPlace(context, segment, breach);
  }
  await pause();
}

/**
 * Re-reads one segment and reports what is damaged. The caller keeps its file open. Rejects with `StorageFailed`, or
 * with what `rest` rejects with.
 */
export async function checkSegment(
  context: RescanContext,
  segment: Segment,
  rest: () => Promise<void>,
): Promise<void> {
  await rescanSegment(context, segment, () => undefined, rest);
}

/**
 * Rewrites the head of a group whose records are all sound. Otherwise the next start could not tell the last group of
 * the log from one that was never answered, and would cut it. The present head is unusable, so a crash makes nothing
 * worse.
 */
async function repairHead(
  { book }: RescanContext,
  { number }: Segment,
  file: DiskFile,
  { kind, offset, bytes }: Breach,
  head: Buffer,
): Promise<void> {
  book.add({ kind, segment: number, offset, bytes, keyCount: 0, tokens: [], foundBy: 'verify' });
  try {
    await writeFullyDurably(file, [head], offset);
  } catch (error) {
    throw asStoreError(error, 'the store cannot mend the head of a group');
  }
}

/**
 * Marks every key as lost whose newest record is in the unreadable place, even if its value is still in memory. Returns
 * their number.
 */
export function loseWithin(
  context: Pick<RescanContext, 'keys' | 'lost'>,
  segment: Segment,
  { offset, bytes, lost }: Breach,
  foundBy: DamageFinder,
): number {
  if (lost === 'none') return 0;
  const { keys } = context;
  let count = 0;
  for (const id of [...keys.ids()]) {
    if (keys.segmentOf(id) !== segment.number) continue;
    const at = keys.offsetOf(id);
    if (at < offset || at >= offset + bytes) continue;
    context.lost(id, segment, foundBy);
    count += 1;
  }
  return count;
}

/** Records damage in a record that newer ones have replaced: no read needs it, but the disk has lost it. */
function noteDead(
  { book }: RescanContext,
  segment: Segment,
  record: Buffer,
  at: number,
  offset: number,
): void {
  if (segment.damaged) return;
  segment.damaged = true;
  const bytes = recordBytes(recordKeyBytes(record, at), recordValueBytes(record, at));
  const tokens = [recordToken(record, at) as Token];
  book.add({ kind: 'value', segment: segment.number, offset, bytes, keyCount: 0, tokens, foundBy: 'verify' });
}

/** Records an unreadable place where no key has its newest record. */
function noteDeadPlace({ book }: RescanContext, segment: Segment, { kind, offset, bytes }: Breach): void {
  if (segment.damaged) return;
  segment.damaged = true;
  book.add({ kind, segment: segment.number, offset, bytes, keyCount: 0, tokens: [], foundBy: 'verify' });
}
