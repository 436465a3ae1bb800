/**
 * Runs one merge: copies the live records of some sealed segments to new ones, which then replace them.
 *
 * The steps, and what a crash after each leaves:
 *
 * 1. Outputs are written, synced and hinted: unlisted segments, removed by the next start.
 * 2. The manifest names the outputs instead of the inputs. The merge has taken effect; the inputs are unlisted
 *    segments.
 * 3. Rows of the key directory move to the outputs, slice by slice; reads use either.
 * 4. Inputs are removed once they have no reader.
 *
 * A store that closes gives up step 1 and finishes the steps after 2, so that no input remains.
 *
 * A removal is dropped only if its key has a newer record, or if no segment outside the merge can hold an older one,
 * which would come back: each begins after the removal, or was itself merged after it (`Segment.cleanSeq`). So a store
 * can be merged part by part, the oldest segments first.
 *
 * If an input is found damaged, the merge is given up. Every key whose newest record is in the damage is lost from then
 * on, and anti-entropy is notified, as after a start. Once those keys have been written again (`Segment.isHealed`), the
 * segment is merged like another. A removal that cannot be read there must not be missed: an older record of its key may
 * be in another segment. The file of a damaged input is set aside as evidence, not removed.
 */
import { failAssertion } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import type { Disk } from '../../io/disk.ts';
import type { Checks } from '../../io/io.ts';
import type { Catalog } from '../log/segment-catalog.ts';
import type { Damage, Damages } from '../recovery/damage.ts';
import { readHint } from '../index/hint-file.ts';
import type { RescanContext } from '../recovery/rescan.ts';
import { loseWithin } from '../recovery/rescan.ts';
import type { KeyDirectory } from '../index/key-directory.ts';
import { MergeOutput } from './merge-output.ts';
import {
  recordBytes,
  recordHeadBytes,
  recordKeyBytes,
  recordSeq,
  recordToken,
  recordValueBytes,
  removalMark,
} from '../log/record.ts';
import type { ScanVisitor } from '../recovery/scan-visitor.ts';
import { scanSegment } from '../recovery/scan.ts';
import type { Segment } from '../log/segment.ts';

/** What a merge needs of the store. */
export interface MergeContext {
  readonly catalog: Catalog;
  readonly keys: KeyDirectory;
  readonly book: Damages;
  /** The key directory has every record up to this sequence number. */
  newestSeq(): number;
  /** Called when the key's newest record, in this segment, cannot be read. */
  readonly lost: RescanContext['lost'];
  /** Resolves when everything that reads can see is durable: a merge may then drop superseded records. */
  barrier(): Promise<void>;
  /** Which assertions run. */
  readonly checks: Checks;
  /** Called when the manifest could not be replaced: nothing may be written any more. */
  failed(error: unknown): void;
}

/** Where and how a merge works; sizes in bytes. */
export interface MergeWork {
  readonly disk: Disk;
  readonly directory: string;
  readonly segmentBytes: number;
  readonly sliceBytes: number;
  /** Called between slices while the merge can still be given up: rests, or rejects if the store is closing. */
  rest(): Promise<void>;
  /** Called between slices once the merge has taken effect: rests, or returns at once if the store is closing. */
  pause(): Promise<void>;
}

/** What a merge has done. */
export interface MergeReport {
  readonly inputCount: number;
  readonly outputCount: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
}

/** Thrown if an input is found damaged. The store is unchanged. */
export class MergeRefusedError extends Error {
  override readonly name = 'MergeRefusedError';
}

/**
 * Merges `inputs`. Rejects with `MergeRefusedError`, a `DiskError`, or `StorageFailed` if the manifest could not be
 * replaced.
 */
export async function mergeSegments(
  context: MergeContext,
  work: MergeWork,
  inputs: readonly Segment[],
): Promise<MergeReport> {
  const output = new MergeOutput(work.disk, work.directory, context.catalog, work.segmentBytes);
  // From now on the key directory decides what is copied.
  const knownSeq = context.newestSeq();
  for (const input of inputs) input.enter();
  try {
    await copyInputs(context, work, inputs, output);
    await context.barrier();
  } catch (error) {
    await output.abandon();
    throw error;
  } finally {
    for (const input of inputs) input.leave();
  }
  for (const segment of output.segments) segment.cleanSeq = knownSeq;
  await publish(context, inputs, output.segments);
  await relocate(context, work, inputs, output.segments);
  dropInputs(context, inputs);
  if (context.checks === 'all') checkLiveBytes(context.catalog, context.keys);
  return reportOf(inputs, output.segments);
}

async function copyInputs(
  context: MergeContext,
  work: MergeWork,
  inputs: readonly Segment[],
  output: MergeOutput,
): Promise<void> {
  const seqOutside = lowestSeqOutside(context.catalog, inputs);
  for (const input of inputs) {
    // A dead segment has nothing to keep or lose: it is not read.
    const dead = input.liveBytes === 0 && input.removalBytes === 0;
    if (!dead) await copyInput(context, work, input, output, seqOutside);
  }
  await output.finish();
}

async function copyInput(
  context: MergeContext,
  work: MergeWork,
  input: Segment,
  output: MergeOutput,
  seqOutside: number,
): Promise<void> {
  const { file } = input;
  if (file === undefined) throw new MergeRefusedError(`segment ${input.number} is lost`);
  const wasDamaged = input.damaged;
  let removalBytes = 0;
  await output.prepare();
  await scanSegment(
    file,
    input.identity,
    {
      record: (bytes, at) => {
        if (isKept(context.keys, input, bytes, at, seqOutside)) output.add(bytes, at);
        if (recordValueBytes(bytes, at) === removalMark)
          removalBytes += recordBytes(recordKeyBytes(bytes, at), removalMark);
      },
      ...(wasDamaged ? knownDamageVisitor(context, input) : damageVisitor(context, input)),
    },
    {
      sealedLength: input.length,
      windowBytes: work.sliceBytes,
      rest: async () => {
        await output.drain();
        await output.prepare();
        await work.rest();
      },
    },
  );
  input.hidesRemovals = removalBytes < input.removalBytes;
  if (wasDamaged ? !input.isHealed : input.damaged)
    throw new MergeRefusedError(`segment ${input.number} is damaged`);
}

function isKept(keys: KeyDirectory, input: Segment, bytes: Buffer, at: number, seqOutside: number): boolean {
  const id = keys.findBytes(bytes, at + recordHeadBytes, recordKeyBytes(bytes, at));
  const seq = recordSeq(bytes, at);
  if (recordValueBytes(bytes, at) !== removalMark) {
    return id !== 0 && keys.seqOf(id) === seq && keys.segmentOf(id) === input.number;
  }
  return seqOutside < seq && (id === 0 || keys.seqOf(id) < seq);
}

/** Up to this sequence number no segment outside the merge holds an older record of a removed key. */
function lowestSeqOutside(catalog: Catalog, inputs: readonly Segment[]): number {
  const merged = new Set(inputs);
  let lowest = Number.MAX_SAFE_INTEGER;
  for (const segment of catalog.segments) {
    const { retired, seqMin, cleanSeq } = segment;
    if (!merged.has(segment) && !retired) lowest = Math.min(lowest, Math.max(seqMin, cleanSeq));
  }
  return lowest;
}

/** Records the damage that a background scan finds: every key whose newest record is in it is lost from now on. */
export function damageVisitor(
  context: Pick<MergeContext, 'keys' | 'book' | 'lost'>,
  segment: Segment,
): Pick<ScanVisitor, 'lostValue' | 'breach'> {
  const { keys } = context;
  return {
    lostValue: (bytes, at, offset) => {
      const id = keys.findBytes(bytes, at + recordHeadBytes, recordKeyBytes(bytes, at));
      const newest = id !== 0 && keys.segmentOf(id) === segment.number && keys.offsetOf(id) === offset;
      if (newest) context.lost(id, segment, 'merge');
      else noteDead(context, segment, bytes, at, offset);
    },
    breach: (breach) => {
      // The key directory knows all keys affected, so nothing else is doubted.
      const { kind, offset, bytes } = breach;
      noteDamage(context, segment, { kind, offset, bytes, keyCount: 0, tokens: [] });
      loseWithin(context, segment, breach, 'merge');
    },
  };
}

/** The same for a segment that is damaged already: finds only the keys that it has lost since. */
function knownDamageVisitor(
  context: Pick<MergeContext, 'keys' | 'book' | 'lost'>,
  segment: Segment,
): Pick<ScanVisitor, 'lostValue' | 'breach'> {
  const { keys } = context;
  return {
    lostValue: (bytes, at, offset) => {
      const id = keys.findBytes(bytes, at + recordHeadBytes, recordKeyBytes(bytes, at));
      if (id !== 0 && keys.segmentOf(id) === segment.number && keys.offsetOf(id) === offset)
        context.lost(id, segment, 'merge');
    },
    breach: (breach) => void loseWithin(context, segment, breach, 'merge'),
  };
}

/** Records damage in a record that newer ones have replaced: no read needs it, but the segment is damaged. */
function noteDead(
  context: Pick<MergeContext, 'book'>,
  input: Segment,
  record: Buffer,
  at: number,
  offset: number,
): void {
  const bytes = recordBytes(recordKeyBytes(record, at), recordValueBytes(record, at));
  const tokens = [recordToken(record, at) as Token];
  noteDamage(context, input, { kind: 'value', offset, bytes, keyCount: 0, tokens });
}

function noteDamage(
  context: Pick<MergeContext, 'book'>,
  input: Segment,
  damage: Omit<Damage, 'segment' | 'foundBy'>,
): void {
  input.damaged = true;
  context.book.add({ ...damage, segment: input.number, foundBy: 'merge' });
}

async function publish(
  context: MergeContext,
  inputs: readonly Segment[],
  outputs: readonly Segment[],
): Promise<void> {
  try {
    await context.catalog.publish(outputs, inputs);
  } catch (error) {
    // It is unknown which manifest the next start will find: the files of both stay.
    context.failed(error);
    for (const { file } of outputs) await file?.close();
    throw new LockstepError('StorageFailed', 'the manifest could not be replaced', { cause: error });
  }
}

/**
 * Points the key directory at the copies: by the output's hint file or, if that cannot be read back, by a scan. An
 * output at which not all of its keys point is `unsettled`: it looks dead, but the next start depends on it.
 */
async function relocate(
  context: MergeContext,
  work: MergeWork,
  inputs: readonly Segment[],
  outputs: readonly Segment[],
): Promise<void> {
  for (const output of outputs) output.unsettled = true;
  for (const output of outputs) {
    const { identity, length } = output;
    const reading = await readHint(
      work.disk,
      work.directory,
      identity,
      length,
      (bytes, keyAt, keyBytes, seq, _token, offset, valueBytes) =>
        move(context, output, bytes, keyAt, keyBytes, seq, offset, valueBytes),
      () => work.pause(),
    );
    if (reading !== 'sound') await relocateByScan(context, work, output);
  }
  const isWhole = inputs.every(({ liveBytes }) => liveBytes === 0);
  if (isWhole) for (const output of outputs) output.unsettled = false;
}

async function relocateByScan(context: MergeContext, work: MergeWork, output: Segment): Promise<void> {
  const { file, identity, length } = output;
  if (file === undefined) return;
  await scanSegment(
    file,
    identity,
    {
      record: (bytes, at, offset) => {
        const keyBytes = recordKeyBytes(bytes, at);
        const valueBytes = recordValueBytes(bytes, at);
        move(
          context,
          output,
          bytes,
          at + recordHeadBytes,
          keyBytes,
          recordSeq(bytes, at),
          offset,
          valueBytes,
        );
      },
      ...damageVisitor(context, output),
    },
    { sealedLength: length, windowBytes: work.sliceBytes, rest: () => work.pause() },
  );
}

/** Points the key at the copy of its newest record. */
function move(
  { keys, catalog }: Pick<MergeContext, 'keys' | 'catalog'>,
  output: Segment,
  bytes: Buffer,
  keyAt: number,
  keyBytes: number,
  seq: number,
  offset: number,
  valueBytes: number,
): void {
  const id = keys.findBytes(bytes, keyAt, keyBytes);
  if (id === 0 || valueBytes === removalMark || keys.seqOf(id) !== seq) return;
  const span = recordBytes(keyBytes, valueBytes);
  const from = catalog.mustFind(keys.segmentOf(id));
  if (offset + span > output.length)
    failAssertion('a copy is within its segment', output.length, offset + span);
  from.liveBytes -= span;
  output.liveBytes += span;
  // A read has met the record as unreadable after it was copied: the key stays lost.
  if (from.lostBytes > 0 && keys.stateOf(id) === 'damaged') {
    from.lostBytes -= span;
    output.lostBytes += span;
  }
  if (from.liveBytes < 0) failAssertion('live bytes are not negative', from.number, from.liveBytes);
  keys.move(id, output.number, offset);
}

/** Drops the inputs. Those that keys still point into (not all copies could be read back) stay until the next start. */
function dropInputs(context: MergeContext, inputs: readonly Segment[]): void {
  for (const input of inputs) {
    if (input.liveBytes === 0) context.catalog.drop(input);
  }
}

/**
 * Asserts that the live and lost bytes of each segment are those of the records at which keys point. Reads every row of the key
 * directory.
 */
function checkLiveBytes(catalog: Catalog, keys: KeyDirectory): void {
  const counted = new Map<number, number>();
  const lost = new Map<number, number>();
  for (const id of keys.ids()) {
    const state = keys.stateOf(id);
    if (state === 'removed') continue;
    const number = keys.segmentOf(id);
    const span = recordBytes(keys.keyBytesOf(id), keys.valueBytesOf(id));
    counted.set(number, (counted.get(number) ?? 0) + span);
    if (state === 'damaged') lost.set(number, (lost.get(number) ?? 0) + span);
  }
  for (const { number, liveBytes, lostBytes } of catalog.segments) {
    if (lostBytes !== (lost.get(number) ?? 0))
      failAssertion('lost bytes are those of the newest records that cannot be read', number, lostBytes);
    const found = counted.get(number) ?? 0;
    counted.delete(number);
    if (found !== liveBytes)
      failAssertion('live bytes are those of the newest records', number, liveBytes, found);
  }
  for (const number of counted.keys()) failAssertion('keys point into segments of the catalog', number);
}

function reportOf(inputs: readonly Segment[], outputs: readonly Segment[]): MergeReport {
  return {
    inputCount: inputs.length,
    outputCount: outputs.length,
    inputBytes: inputs.reduce((sum, segment) => sum + segment.length, 0),
    outputBytes: outputs.reduce((sum, segment) => sum + segment.length, 0),
  };
}
