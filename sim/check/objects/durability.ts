/**
 * `durability` (INV4): acknowledged writes remain. The check pairs every acknowledged write with every later read of
 * its key whose quorum overlaps (`need + need > copies`, in one of the datacenters). The read shows the write, or
 * something that is not older:
 *
 * - a bucket with siblings shows the value itself, or a value whose writer may have seen it (or a deletion may have);
 * - a bucket without siblings shows no value that the write had surely seen, and nothing at all only after a deletion;
 * - in both, no value returns that the write had surely replaced.
 *
 * The last statement does not hold of a value from the time on when a coordinator has rightly pruned the entry that
 * covers it (evidence/prunings.ts): it may be back beside the write, or alone after a deletion. Everything else holds of
 * such a key, too: above all the read shows the write, or something that may have seen it.
 *
 * Every value that is read was written by a client that was not told that its write certainly failed. After the calm,
 * every key with an acknowledged write can be read; so can, after damage to disks and a sweep, a key of which enough
 * disks still hold a value. Writes of unknown outcome are accepted both ways. Skipped: pairs
 * whose quorums need not overlap, also when nodes whose disks lost data unnoticed count as if they had never held it
 * (disk-losses.ts). Source: Jepsen's set-full; "Dotted Version Vectors" (engine/replica/object/dots.ts) for which
 * version may replace which.
 */
import type { History, Operation, ReadOperation, WriteOperation } from '../../evidence/history.ts';
import { byKey, describeOperation, isRead, isWrite } from '../../evidence/history.ts';
import type { Prunings } from '../../evidence/prunings.ts';
import { nothingPruned } from '../../evidence/prunings.ts';
import type { DiskLosses } from './disk-losses.ts';
import { wholeDisks } from './disk-losses.ts';
import type { Causality } from './causality.ts';
import { causalityOf } from './causality.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** What clients did with single objects, and what excuses a missing value, or one that is back. */
export interface HistoryEvidence {
  readonly history: History;
  readonly diskLosses: DiskLosses;
  readonly prunings: Prunings;
}

/** What the operations of a key are judged by. */
export interface KeyTerms {
  readonly causality: Causality;
  /** All writes of the key. */
  readonly writes: readonly WriteOperation[];
  readonly prunings: Prunings;
}

/** The row of `durability`. */
export const durabilityRow = invariant({
  name: 'durability',
  code: 'INV4',
  promise: 'an acknowledged write is never lost or undone',
  gravity: 'data',
  breach: 'an acknowledged write is lost, or something deleted or replaced is back',
  needs: [],
  everydayFloor: 30,
  check: ({ history, diskLosses, prunings }: HistoryEvidence) =>
    checkDurability(history, diskLosses, prunings),
});

/** Checks a history key by key; `atlas` says which disks lost data, and when. */
export function checkDurability(
  history: History,
  atlas: DiskLosses = wholeDisks,
  prunings: Prunings = nothingPruned,
): CheckReport {
  const tally = new Tally('durability');
  for (const operations of byKey(history).values()) checkKey(operations, atlas, prunings, tally);
  return tally.report();
}

function checkKey(operations: History, atlas: DiskLosses, prunings: Prunings, tally: Tally): void {
  const writes = operations.filter(isWrite);
  const terms = { causality: causalityOf(operations), writes, prunings };
  const acknowledged = writes.filter((write) => write.outcome === 'ok');
  const reads = operations.filter(isRead);
  checkReadable(acknowledged, reads, atlas, tally);
  for (const read of reads) if (read.outcome === 'ok') checkRead(read, acknowledged, terms, atlas, tally);
}

/** Compares an answered read with the acknowledged writes of its key that it must meet. */
export function checkRead(
  read: ReadOperation,
  acknowledged: readonly WriteOperation[],
  terms: KeyTerms,
  atlas: DiskLosses,
  tally: Tally,
): void {
  const { writes } = terms;
  checkOrigin(read, terms.causality, tally);
  const readUs = read.completedUs ?? read.invokedUs;
  const begun = writes.filter(({ outcome, invokedUs }) => outcome !== 'fail' && invokedUs <= readUs).length;
  for (const write of acknowledged) {
    if (!isBefore(write, read)) continue;
    if (mustMeet(write, read, atlas, begun === 1)) checkPair(write, read, terms, tally);
    else tally.skip();
  }
}

/** After the calm, a key with an acknowledged write can be read. */
function checkReadable(
  acknowledged: readonly WriteOperation[],
  reads: readonly ReadOperation[],
  atlas: DiskLosses,
  tally: Tally,
): void {
  const write = acknowledged.at(-1);
  if (write === undefined) return;
  const finals = reads.filter((read) => read.final);
  const last = finals.at(-1);
  // If so many copies may be lost, and known to be, no quorum can answer; unless the disks that are left hold enough.
  const mayBeLost = last !== undefined && atlas.lostBetween(0, last.invokedUs) > last.copies - last.need;
  if (mayBeLost && !(atlas.healed && atlas.intactOf(last.key) >= last.need)) {
    tally.skip();
    return;
  }
  const readable = finals.some((read) => read.outcome === 'ok');
  tally.compare(readable, last?.completedUs ?? last?.invokedUs ?? write.invokedUs, () => {
    const tried = last === undefined ? 'nobody read it' : describeOperation(last);
    return `${write.key} cannot be read after the calm: ${tried}`;
  });
}

/** Every value shown was written, and its write was not certainly refused. */
function checkOrigin(read: ReadOperation, causality: Causality, tally: Tally): void {
  for (const tag of read.values) {
    const write = causality.writeOf(tag);
    const fine = write !== undefined && write.outcome !== 'fail';
    tally.compare(fine, read.completedUs ?? read.invokedUs, () => {
      const why =
        write === undefined
          ? 'which no client wrote'
          : `whose writer was told that it did not happen: ${describeOperation(write)}`;
      return `${describeOperation(read)}: it shows ${tag}, ${why}`;
    });
  }
}

function checkPair(write: WriteOperation, read: ReadOperation, terms: KeyTerms, tally: Tally): void {
  const verdict = judge(write, read, terms);
  tally.compare(verdict === 'kept', read.completedUs ?? read.invokedUs, () => {
    return `${describeOperation(read)}: ${verdict}: ${describeOperation(write)}`;
  });
}

type Verdict =
  | 'kept'
  | 'an acknowledged write is lost'
  | 'a replaced value is back after its replacement was acknowledged';

function judge(
  write: WriteOperation,
  read: ReadOperation,
  { causality, writes, prunings }: KeyTerms,
): Verdict {
  const readUs = read.completedUs ?? read.invokedUs;
  const values = read.values.flatMap((tag) => causality.writeOf(tag) ?? []);
  if (values.some((value) => causality.surely(write, value) && !prunings.mayBeBack(value, readUs))) {
    return 'a replaced value is back after its replacement was acknowledged';
  }
  if (write.kind === 'delete') return 'kept';
  if (values.some((value) => value.id === write.id || causality.perhaps(value, write))) return 'kept';
  if (!write.siblings && values.length > 0) return 'kept';
  return writes.some((other) => mayHaveDeleted(other, write, read, causality))
    ? 'kept'
    : 'an acknowledged write is lost';
}

/**
 * A deletion that the read may reflect. With siblings it may have covered the write; without siblings it may be newer.
 */
function mayHaveDeleted(
  deletion: WriteOperation,
  write: WriteOperation,
  read: ReadOperation,
  causality: Causality,
): boolean {
  if (deletion.kind !== 'delete' || deletion.outcome === 'fail') return false;
  if (deletion.invokedUs > (read.completedUs ?? read.invokedUs)) return false;
  return !write.siblings || causality.perhaps(deletion, write);
}

/** The read began after the write was acknowledged. */
function isBefore(write: WriteOperation, read: ReadOperation): boolean {
  return write.completedUs !== undefined && write.completedUs < read.invokedUs;
}

/** The read shows the write, or something that is not older. */
export function isKept(write: WriteOperation, read: ReadOperation, terms: KeyTerms): boolean {
  return judge(write, read, terms) === 'kept';
}

/**
 * Every read quorum shares a replica with every set of replicas that holds the write. `alone`: no other write of the key
 * began before the read ended. Then a replica that has noticed a loss counts, too: it answers no absence while another
 * one holds the value. (Otherwise an older version of another replica, or a newer write, may have taken its place.)
 */
export function mustMeet(
  write: WriteOperation,
  read: ReadOperation,
  atlas: DiskLosses,
  alone = false,
): boolean {
  const readUs = read.completedUs ?? read.invokedUs;
  const unsynced = atlas.unsyncedBetween(write.invokedUs, write.completedUs ?? readUs, readUs);
  const lost = atlas.lostBetween(write.invokedUs, readUs) + unsynced;
  // By then anti-entropy has copied a remaining replica's version to the others.
  if (write.datacenter === read.datacenter && read.final && atlas.healed)
    return write.need > lost && write.need + read.need > read.copies;
  const silent = alone ? atlas.silentlyLostBetween(write.invokedUs, readUs) + unsynced : lost;
  const meetIn = (datacenter: string): boolean =>
    neededIn(write, datacenter) > lost &&
    neededIn(write, datacenter) + neededIn(read, datacenter) >
      (datacenter === write.datacenter ? write : read).copies + silent;
  return meetIn(write.datacenter) || meetIn(read.datacenter);
}

/** Number of copies for which an operation waits in a datacenter. */
function neededIn({ datacenter: own, need, far }: Operation, datacenter: string): number {
  return own === datacenter ? need : (far?.[datacenter] ?? 0);
}
