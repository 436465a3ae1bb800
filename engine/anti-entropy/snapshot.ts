/**
 * Keeps a tree over a restart, in one file that is replaced whole. An unusable snapshot never stops a start: it is
 * renamed (`tree.rejected`, one at most), counted once, and the tree is recomputed from the store.
 *
 * A snapshot may be older than the store (after an unclean stop, or if a copy was put back). Every segment with a
 * record beyond the snapshot's position is then dirty, and so is every segment that has lost a key since. A snapshot
 * newer than the store (the store has lost writes) is useless and removed.
 */
import { sometimes } from '../base/sometimes.ts';
import type { Disk } from '../io/disk.ts';
import { DiskError, readFile, replaceFile } from '../io/disk.ts';
import type { Io } from '../io/io.ts';
import type { AntiEntropyMetrics } from '../metrics/anti-entropy-metrics.ts';
import type { Store } from '../storage/store.ts';
import type { SnapshotRejection, SnapshotShape } from './snapshot-file.ts';
import { decodeSnapshot, encodeSnapshot, snapshotBytesMax } from './snapshot-file.ts';
import { Tree, wholeRing } from './tree.ts';

/** What snapshots need of the node. */
export type SnapshotIo = Pick<Io, 'disk' | 'log' | 'checks'>;

const directory = 'aae';
/** Path of the snapshot. */
export const snapshotPath = `${directory}/tree.snapshot`;
/** Path of the last rejected snapshot. */
export const rejectedPath = `${directory}/tree.rejected`;

/** Saves the tree as it is at this instant. Rejects with a `DiskError`; the previous file then remains. */
export async function saveSnapshotWithMetrics(
  io: SnapshotIo,
  tree: Tree,
  shape: SnapshotShape,
  position: number,
  metrics: AntiEntropyMetrics,
): Promise<void> {
  const bytes = encodeSnapshot(tree, shape, position);
  await makeDirectory(io.disk);
  await replaceFile(io.disk, snapshotPath, bytes);
  metrics.snapshotSaved();
  io.log.event('info', 'aae.snapshot.saved', { bytes: bytes.length, position, dirty: tree.dirtyCount });
}

/**
 * The tree of the last snapshot, with every segment dirty that may have changed since; an all-dirty tree without one.
 */
export async function loadSnapshotWithMetrics(
  io: SnapshotIo,
  shape: SnapshotShape,
  store: Pick<Store, 'fingerprints' | 'damages'>,
  metrics: AntiEntropyMetrics,
): Promise<Tree> {
  const found = await readSnapshot(io);
  if (found === undefined) return new Tree(shape.segmentBits, 'dirty', io.checks);
  const reading =
    found === 'unreadable'
      ? { kind: 'rejected' as const, reason: 'Corrupted' as const, detail: 'the disk refuses to read it' }
      : decodeSnapshot(found, shape, io.checks);
  if (reading.kind === 'rejected') {
    sometimes('anti-entropy.snapshot-rejected');
    metrics.snapshotRejected();
    await setAside(io, reading.reason, reading.detail);
    return new Tree(shape.segmentBits, 'dirty', io.checks);
  }
  const { tree, position } = reading;
  if (position > store.fingerprints.lastSeq) {
    sometimes('anti-entropy.snapshot-ahead');
    io.log.event('warn', 'aae.snapshot.dropped', { position, store: store.fingerprints.lastSeq });
    await removeQuietly(io);
    return new Tree(shape.segmentBits, 'dirty', io.checks);
  }
  dirtySince(tree, position, store);
  metrics.snapshotLoaded();
  io.log.event('info', 'aae.snapshot.loaded', { position, dirty: tree.dirtyCount });
  return tree;
}

/** Marks dirty what the store may hold differently than at `position`. */
function dirtySince(tree: Tree, position: number, store: Pick<Store, 'fingerprints' | 'damages'>): void {
  // Nothing can become dirty any more: a node that never exchanged, or stopped before its tree was computed.
  if (tree.dirtyCount === tree.segmentCount) return;
  const counts = new Uint32Array(tree.segmentCount);
  store.fingerprints.visit(wholeRing.first, wholeRing.last, (token, _high, _low, seq) => {
    const segment = tree.segmentOf(token);
    counts[segment] = (counts[segment] ?? 0) + 1;
    if (seq > position) tree.dirty(segment);
  });
  counts.forEach((count, segment) => {
    if (count !== tree.countOf(segment)) tree.dirty(segment);
  });
  dirtyDamaged(tree, store.damages);
}

/** Marks dirty the segments of lost records, wherever they may have been. */
export function dirtyDamaged(tree: Tree, damages: Store['damages']): void {
  for (const { tokens } of damages) {
    if (tokens === 'all') tree.dirtyRange(wholeRing);
    else for (const token of tokens) tree.touch(token);
  }
}

async function readSnapshot({ disk, log }: SnapshotIo): Promise<Buffer | 'unreadable' | undefined> {
  try {
    return await readFile(disk, snapshotPath, snapshotBytesMax);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    log.event('error', 'aae.snapshot.unreadable', { detail: error.message });
    return 'unreadable';
  }
}

async function setAside(io: SnapshotIo, reason: SnapshotRejection, detail: string): Promise<void> {
  io.log.event('warn', 'aae.snapshot.rejected', { reason, detail });
  try {
    await io.disk.rename(snapshotPath, rejectedPath);
    await io.disk.syncDirectory(directory);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    io.log.event('error', 'aae.snapshot.kept', { detail: error.message });
  }
}

async function removeQuietly(io: SnapshotIo): Promise<void> {
  try {
    await io.disk.remove(snapshotPath);
    await io.disk.syncDirectory(directory);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    io.log.event('error', 'aae.snapshot.kept', { detail: error.message });
  }
}

/** The directory's own name must be durable before a file in it can be. */
async function makeDirectory(disk: Disk): Promise<void> {
  await disk.makeDirectory(directory);
  await disk.syncDirectory('');
}
