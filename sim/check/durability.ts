/**
 * `durability` (INV4): what was acknowledged is there. For every acknowledged write and every later read
 * of its key whose quorums overlap (`need + need > copies`, in one of the datacenters), the read shows the write or
 * something that is not older:
 *
 * - a bucket with siblings shows the value itself or a value whose writer may have seen it (or a deletion may have);
 * - a bucket without siblings shows no value that the write had surely seen, and nothing at all only after a deletion;
 * - in both, nothing comes back that the write had surely replaced.
 *
 * For every value read at all: somebody wrote it, and was not told that the write certainly did not happen. And after
 * the calm, every key with an acknowledged write can be read.
 * Writes of unknown outcome are accepted both ways. Skipped: pairs whose quorums need not overlap, not even when nodes
 * whose disks lost something count as if they had never held it (disk-losses.ts).
 * Source: Jepsen's set-full; "Dotted Version Vectors" (engine/replica/object/dots.ts) for what may replace what.
 */
import type { History, Operation, ReadOperation, WriteOperation } from '../evidence/history.ts';
import { byKey, describeOperation, isRead, isWrite } from '../evidence/history.ts';
import type { DiskLosses } from './disk-losses.ts';
import { wholeDisks } from './disk-losses.ts';
import type { Causality } from './causality.ts';
import { causalityOf } from './causality.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

export function checkDurability(history: History, atlas: DiskLosses = wholeDisks): CheckReport {
  const tally = new Tally('durability');
  for (const operations of byKey(history).values()) checkKey(operations, atlas, tally);
  return tally.report();
}

function checkKey(operations: History, atlas: DiskLosses, tally: Tally): void {
  const causality = causalityOf(operations);
  const writes = operations.filter(isWrite);
  const acknowledged = writes.filter((write) => write.outcome === 'ok');
  const reads = operations.filter(isRead);
  checkReadable(acknowledged, reads, atlas, tally);
  for (const read of reads) {
    if (read.outcome !== 'ok') continue;
    checkOrigin(read, causality, tally);
    for (const write of acknowledged) {
      if (!isBefore(write, read)) continue;
      if (mustMeet(write, read, atlas)) checkPair(write, read, writes, causality, tally);
      else tally.skip();
    }
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
  // Too many of the copies may be lost, and known to be: no quorum can answer.
  if (last !== undefined && atlas.lostBetween(0, last.invokedUs) > last.copies - last.need) {
    tally.skip();
    return;
  }
  const readable = finals.some((read) => read.outcome === 'ok');
  tally.compare(readable, last?.completedUs ?? last?.invokedUs ?? write.invokedUs, () => {
    const tried = last === undefined ? 'nobody read it' : describeOperation(last);
    return `${write.key} cannot be read after the calm: ${tried}`;
  });
}

/** Every value shown was written, and not refused for certain. */
function checkOrigin(read: ReadOperation, causality: Causality, tally: Tally): void {
  for (const tag of read.values) {
    const write = causality.writeOf(tag);
    const fine = write !== undefined && write.outcome !== 'fail';
    tally.compare(fine, read.completedUs ?? read.invokedUs, () => {
      const why =
        write === undefined
          ? 'which nobody wrote'
          : `whose writer was told that it did not happen: ${describeOperation(write)}`;
      return `${describeOperation(read)}: it shows ${tag}, ${why}`;
    });
  }
}

function checkPair(
  write: WriteOperation,
  read: ReadOperation,
  writes: readonly WriteOperation[],
  causality: Causality,
  tally: Tally,
): void {
  const verdict = judge(write, read, writes, causality);
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
  writes: readonly WriteOperation[],
  causality: Causality,
): Verdict {
  const values = read.values.flatMap((tag) => causality.writeOf(tag) ?? []);
  if (values.some((value) => causality.surely(write, value))) {
    return 'a replaced value is back after its replacement was acknowledged';
  }
  if (write.kind === 'delete') return 'kept';
  if (values.some((value) => value.id === write.id || causality.perhaps(value, write))) return 'kept';
  if (!write.siblings && values.length > 0) return 'kept';
  return writes.some((other) => mayHaveDeleted(other, write, read, causality))
    ? 'kept'
    : 'an acknowledged write is lost';
}

/** A deletion that the read may reflect and that may have covered (with siblings) or outlived (without) the write. */
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

/** The write, or something that is not older, is shown. */
export function isKept(
  write: WriteOperation,
  read: ReadOperation,
  writes: readonly WriteOperation[],
  causality: Causality,
): boolean {
  return judge(write, read, writes, causality) === 'kept';
}

/** Any replicas that answered the read and any that kept the write have one in common. */
export function mustMeet(write: WriteOperation, read: ReadOperation, atlas: DiskLosses): boolean {
  const lost = atlas.lostBetween(write.invokedUs, read.completedUs ?? read.invokedUs);
  // One copy that was kept has been brought to the others by then.
  if (write.datacenter === read.datacenter && read.final && atlas.healed)
    return write.need > lost && write.need + read.need > read.copies;
  const meetIn = (datacenter: string): boolean =>
    neededIn(write, datacenter) + neededIn(read, datacenter) > read.copies + lost;
  return meetIn(write.datacenter) || meetIn(read.datacenter);
}

/** Copies that an operation waits for in a datacenter; each has as many racks as the others. */
function neededIn({ datacenter: own, need, far = 0 }: Operation, datacenter: string): number {
  return own === datacenter ? need : far;
}
