/**
 * One merge: what lives in some sealed segments is copied to new ones, which then take their place.
 *
 * The steps and what a crash after each leaves: (1) outputs are written, synced, hinted: strays, removed by the next
 * start; (2) the manifest names the outputs and no longer the inputs: the merge has happened, the inputs are strays;
 * (3) rows of the key directory move over, slice by slice, while reads are served from either; (4) inputs are removed
 * when nobody reads them. A store that closes gives up (1), and finishes what comes after (2): it leaves no input behind.
 *
 * A removal is dropped only when the key has a newer record, or no segment outside the merge begins before it, so that
 * no older record can come back. A segment in which damage turns up is not merged: the merge is given up, every key
 * whose newest record lies in the damage is lost from that moment on, and anti-entropy is told of it, as after a start.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import type { Disk } from '../../io/disk.ts';
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

/** What a merge works on. */
export interface MergeContext {
  readonly catalog: Catalog;
  readonly keys: KeyDirectory;
  readonly book: Damages;
  /** The key's newest record, in this segment, cannot be read. */
  readonly lost: RescanContext['lost'];
  /** Everything that reads can see is durable when this resolves: a merge may drop what is superseded. */
  barrier(): Promise<void>;
  /** The manifest could not be replaced: nothing may be written any more. */
  failed(error: unknown): void;
}

export interface MergeWork {
  readonly disk: Disk;
  readonly directory: string;
  readonly segmentBytes: number;
  readonly sliceBytes: number;
  /** Called between slices while the merge can still be given up: rests, or throws when the store is closing. */
  rest(): Promise<void>;
  /** Called between slices once the merge has happened: rests, or returns at once when the store is closing. */
  pause(): Promise<void>;
}

export interface MergeReport {
  readonly inputCount: number;
  readonly outputCount: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
}

/** Thrown when an input turned out to be damaged. The store is as it was. */
export class MergeRefusedError extends Error {
  override readonly name = 'MergeRefusedError';
}

export async function mergeSegments(
  room: MergeContext,
  work: MergeWork,
  inputs: readonly Segment[],
): Promise<MergeReport> {
  const output = new MergeOutput(work.disk, work.directory, room.catalog, work.segmentBytes);
  for (const input of inputs) input.enter();
  try {
    await copyInputs(room, work, inputs, output);
    await room.barrier();
  } catch (error) {
    await output.abandon();
    throw error;
  } finally {
    for (const input of inputs) input.leave();
  }
  await publish(room, inputs, output.segments);
  await relocate(room, work, inputs, output.segments);
  dropInputs(room, inputs);
  return reportOf(inputs, output.segments);
}

async function copyInputs(
  room: MergeContext,
  work: MergeWork,
  inputs: readonly Segment[],
  output: MergeOutput,
): Promise<void> {
  const seqOutside = lowestSeqOutside(room.catalog, inputs);
  for (const input of inputs) {
    // Of what is wholly dead nothing can be kept, nor lost: it is not even read.
    const dead = input.liveBytes === 0 && input.removalBytes === 0;
    if (!dead) await copyInput(room, work, input, output, seqOutside);
  }
  await output.finish();
}

async function copyInput(
  room: MergeContext,
  work: MergeWork,
  input: Segment,
  output: MergeOutput,
  seqOutside: number,
): Promise<void> {
  const { file } = input;
  if (file === undefined) throw new MergeRefusedError(`segment ${input.number} is lost`);
  await output.prepare();
  await scanSegment(
    file,
    input.identity,
    {
      record: (bytes, at) => {
        if (isKept(room.keys, input, bytes, at, seqOutside)) output.add(bytes, at);
      },
      ...damageVisitor(room, input),
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
  if (input.damaged) throw new MergeRefusedError(`segment ${input.number} is damaged`);
}

function isKept(keys: KeyDirectory, input: Segment, bytes: Buffer, at: number, seqOutside: number): boolean {
  const id = keys.findBytes(bytes, at + recordHeadBytes, recordKeyBytes(bytes, at));
  const seq = recordSeq(bytes, at);
  if (recordValueBytes(bytes, at) !== removalMark) {
    return id !== 0 && keys.seqOf(id) === seq && keys.segmentOf(id) === input.number;
  }
  return seqOutside < seq && (id === 0 || keys.seqOf(id) < seq);
}

/** Older records than this lie in the merged segments only. */
function lowestSeqOutside(catalog: Catalog, inputs: readonly Segment[]): number {
  let lowest = Number.MAX_SAFE_INTEGER;
  for (const segment of catalog.segments) {
    if (!inputs.includes(segment) && !segment.retired) lowest = Math.min(lowest, segment.seqMin);
  }
  return lowest;
}

/** Enters what a background scan finds: every key whose newest record lies in the damage is lost from now on. */
export function damageVisitor(
  room: Pick<MergeContext, 'keys' | 'book' | 'lost'>,
  segment: Segment,
): Pick<ScanVisitor, 'lostValue' | 'breach'> {
  const { keys } = room;
  return {
    lostValue: (bytes, at, offset) => {
      const id = keys.findBytes(bytes, at + recordHeadBytes, recordKeyBytes(bytes, at));
      const newest = id !== 0 && keys.segmentOf(id) === segment.number && keys.offsetOf(id) === offset;
      if (newest) room.lost(id, segment, 'merge');
      else noteDead(room, segment, bytes, at, offset);
    },
    breach: (breach) => {
      // Which keys those are the key directory knows, all of them: nothing else is doubted.
      const { kind, offset, bytes } = breach;
      noteDamage(room, segment, { kind, offset, bytes, keyCount: 0, tokens: [] });
      loseWithin(room, segment, breach, 'merge');
    },
  };
}

/** A record that newer ones have replaced: nobody will ask for it, but the segment is damaged. */
function noteDead(
  room: Pick<MergeContext, 'book'>,
  input: Segment,
  record: Buffer,
  at: number,
  offset: number,
): void {
  const bytes = recordBytes(recordKeyBytes(record, at), recordValueBytes(record, at));
  const tokens = [recordToken(record, at) as Token];
  noteDamage(room, input, { kind: 'value', offset, bytes, keyCount: 0, tokens });
}

function noteDamage(
  room: Pick<MergeContext, 'book'>,
  input: Segment,
  damage: Omit<Damage, 'segment' | 'foundBy'>,
): void {
  input.damaged = true;
  room.book.add({ ...damage, segment: input.number, foundBy: 'merge' });
}

async function publish(
  room: MergeContext,
  inputs: readonly Segment[],
  outputs: readonly Segment[],
): Promise<void> {
  try {
    await room.catalog.publish(outputs, inputs);
  } catch (error) {
    // Which manifest the next start finds is not known: the files of both stay.
    room.failed(error);
    for (const { file } of outputs) await file?.close();
    throw new LockstepError('StorageFailed', 'the manifest could not be replaced', { cause: error });
  }
}

/**
 * Points the key directory at the copies: by their hint file, or where that cannot be read back, by the copies
 * themselves. A copy that keys could not be pointed at is `unsettled`: it looks dead, and is all that the next start has.
 */
async function relocate(
  room: MergeContext,
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
        move(room, output, bytes, keyAt, keyBytes, seq, offset, valueBytes),
      () => work.pause(),
    );
    if (reading !== 'sound') await relocateByScan(room, work, output);
  }
  const isWhole = inputs.every(({ liveBytes }) => liveBytes === 0);
  if (isWhole) for (const output of outputs) output.unsettled = false;
}

async function relocateByScan(room: MergeContext, work: MergeWork, output: Segment): Promise<void> {
  const { file, identity, length } = output;
  if (file === undefined) return;
  await scanSegment(
    file,
    identity,
    {
      record: (bytes, at, offset) => {
        const keyBytes = recordKeyBytes(bytes, at);
        const valueBytes = recordValueBytes(bytes, at);
        move(room, output, bytes, at + recordHeadBytes, keyBytes, recordSeq(bytes, at), offset, valueBytes);
      },
      ...damageVisitor(room, output),
    },
    { sealedLength: length, windowBytes: work.sliceBytes, rest: () => work.pause() },
  );
}

/** The key's newest record is read from its copy from now on. */
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
  catalog.mustFind(keys.segmentOf(id)).liveBytes -= span;
  output.liveBytes += span;
  keys.move(id, output.number, offset);
}

/** Inputs that keys still point into (not all of the copies could be read back) stay until the next start. */
function dropInputs(room: MergeContext, inputs: readonly Segment[]): void {
  for (const input of inputs) {
    if (input.liveBytes === 0) room.catalog.drop(input);
  }
}

function reportOf(inputs: readonly Segment[], outputs: readonly Segment[]): MergeReport {
  return {
    inputCount: inputs.length,
    outputCount: outputs.length,
    inputBytes: inputs.reduce((sum, segment) => sum + segment.length, 0),
    outputBytes: outputs.reduce((sum, segment) => sum + segment.length, 0),
  };
}
