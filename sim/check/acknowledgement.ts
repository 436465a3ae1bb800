/**
 * `durable-before-ack` (INV5), no acknowledgement before durability: at the moment a client hears `ok`, at least as
 * many distinct replicas of the key as the write waited for hold its tag in bytes that survive any crash, by the
 * ground truth of the world's disks. Skipped: deletions, which leave no tag (`durability` watches those: what they
 * replaced must not come back); writes that another one may have seen and replaced before they were acknowledged,
 * since a replica that has the successor first keeps that in its stead; and in buckets without siblings the writes
 * that may have met one they had not seen: the older of two never reaches a disk. A disk that lied meanwhile
 * (disk-losses.ts) is forgiven: nobody can see it.
 */
import type { History, WriteOperation } from '../evidence/history.ts';
import { byKey, describeOperation, isWrite } from '../evidence/history.ts';
import type { DiskLosses } from './disk-losses.ts';
import { wholeDisks } from './disk-losses.ts';
import type { Causality } from './causality.ts';
import { causalityOf } from './causality.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

export function checkAcknowledgement(history: History, atlas: DiskLosses = wholeDisks): CheckReport {
  const tally = new Tally('durable-before-ack');
  const lasting = writesThatLast(history);
  for (const operations of byKey(history).values()) {
    for (const write of operations.filter(isWrite)) {
      if (write.outcome !== 'ok') continue;
      if (lasting.has(write.id)) compare(write, atlas, tally);
      else tally.skip();
    }
  }
  return tally.report();
}

/** The acknowledged puts whose value is stored wherever they are, whatever else was written. */
export function writesThatLast(history: History): ReadonlySet<number> {
  const lasting = new Set<number>();
  for (const operations of byKey(history).values()) {
    const causality = causalityOf(operations);
    const writes = operations.filter(isWrite);
    for (const write of writes) {
      if (write.outcome !== 'ok' || write.kind === 'delete') continue;
      if (!writes.some((other) => mayStandForIt(other, write, causality))) lasting.add(write.id);
    }
  }
  return lasting;
}

function compare(write: WriteOperation, atlas: DiskLosses, tally: Tally): void {
  const atUs = write.completedUs ?? write.invokedUs;
  const owed = write.need - atlas.lostBetween(write.invokedUs, atUs);
  tally.compare(write.durableCopies >= owed, atUs, () => {
    return `${describeOperation(write)}: acknowledged with ${write.durableCopies} durable copies, ${owed} are promised`;
  });
}

/** Another write that a replica may have had already, and kept, when this one came. */
function mayStandForIt(other: WriteOperation, write: WriteOperation, causality: Causality): boolean {
  if (other.id === write.id || other.outcome === 'fail') return false;
  if (write.completedUs !== undefined && other.invokedUs > write.completedUs) return false;
  return write.siblings ? causality.perhaps(other, write) : !causality.surely(write, other);
}
