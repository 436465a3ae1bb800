/**
 * Reads every value of an open store again, front to back through its segments: what anti-entropy's trees are built
 * from. A walk over the log costs a tenth of asking for the keys one by one, and it looks at the disk: what has rotted
 * under a value that is still in memory is found too.
 *
 * Rejects with `StorageFailed` when the disk refuses to read. What is shown is true at the instant of the call. Writes
 * go on meanwhile; the records of segments that begin after the walk did are not met. Where only the head of a
 * group has rotted, it is written anew.
 */
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

/** A key's newest value; the key and behind it the value lie in `bytes`, which are good during the call only. */
export type ValueVisitor = (
  id: number,
  bytes: Buffer,
  keyAt: number,
  valueAt: number,
  valueBytes: number,
) => void;

export interface RescanContext {
  readonly catalog: Catalog;
  readonly keys: KeyDirectory;
  readonly book: Damages;
  /** The key's newest record, in this segment, cannot be read. */
  readonly lost: (id: number, segment: Segment, foundBy: DamageFinder) => void;
}

/** Calls `rest` with the number of values seen since it last did, after each window of a segment and at its end. */
export async function rescanValues(
  room: RescanContext,
  visit: ValueVisitor,
  rest: (values: number) => Promise<void>,
): Promise<void> {
  for (const segment of [...room.catalog.segments]) {
    if (segment.retired || segment.file === undefined) continue;
    segment.enter();
    try {
      await rescanSegment(room, segment, visit, rest);
    } finally {
      segment.leave();
    }
  }
}

async function rescanSegment(
  room: RescanContext,
  segment: Segment,
  visit: ValueVisitor,
  rest: (values: number) => Promise<void>,
): Promise<void> {
  const { keys } = room;
  const { file, number } = segment;
  if (file === undefined) return;
  const breaches: Breach[] = [];
  let seen = 0;
  /** The record is its key's newest; 0 when it is not. */
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
        const { book } = room;
        if (book.suspicious && book.doubts(keys.hashBytes(bytes, keyAt, keyBytes), keys.seqOf(id))) return;
        visit(id, bytes, keyAt, keyAt + keyBytes, keys.valueBytesOf(id));
      },
      lostValue: (bytes, at, offset) => {
        const id = newest(bytes, at, offset);
        if (id !== 0) room.lost(id, segment, 'verify');
        else noteDead(room, segment, bytes, at, offset);
      },
      breach: (breach) => breaches.push(breach),
    },
    // All that was ever answered lies below, in the open segment too.
    { sealedLength: segment.length, rest: pause },
  );
  for (const breach of breaches) {
    if (breach.head === undefined) loseWithin(room, segment, breach, 'verify');
    else await mendHead(room, segment, file, breach, breach.head);
  }
  await pause();
}

/**
 * Writes a group's head anew whose records are all sound. The next start could not tell the last group of the log from
 * one that was never answered otherwise, and would cut it. What stands there is of no use: a crash can make nothing worse.
 */
async function mendHead(
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

/** Every key whose newest record lies where nothing can be read is lost, whatever memory still has of it. */
export function loseWithin(
  room: Pick<RescanContext, 'keys' | 'lost'>,
  segment: Segment,
  { offset, bytes, lost }: Breach,
  foundBy: DamageFinder,
): void {
  if (lost === 'none') return;
  const { keys } = room;
  for (const id of [...keys.ids()]) {
    if (keys.segmentOf(id) !== segment.number) continue;
    const at = keys.offsetOf(id);
    if (at >= offset && at < offset + bytes) room.lost(id, segment, foundBy);
  }
}

/** A record that newer ones have replaced: nobody will ask for it, but the disk has lost it. */
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
