/**
 * INV5, no acknowledgement before durability: at the moment a client hears `ok`, at least as many distinct replicas of
 * the key as the write waited for hold its tag in bytes that survive any crash, by the ground truth of the world's
 * disks. Skipped: deletions, which leave no tag (INV4 watches those: what they replaced must not come back), and in
 * buckets without siblings the writes that may have met one they had not seen: the older of two never reaches a disk.
 * A disk that lied meanwhile (atlas.ts) is forgiven: nobody can see it.
 */
import type { History, WriteOperation } from '../history.ts';
import { byKey, describeOperation, isWrite } from '../history.ts';
import type { Atlas } from './atlas.ts';
import { wholeDisks } from './atlas.ts';
import type { Causality } from './causality.ts';
import { causalityOf } from './causality.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

export function checkAcknowledgement(history: History, atlas: Atlas = wholeDisks): CheckReport {
  const tally = new Tally('INV5');
  for (const operations of byKey(history).values()) {
    const causality = causalityOf(operations);
    const writes = operations.filter(isWrite);
    for (const write of writes) {
      if (write.outcome !== 'ok') continue;
      if (leavesTag(write, writes, causality)) compare(write, atlas, tally);
      else tally.skip();
    }
  }
  return tally.report();
}

function compare(write: WriteOperation, atlas: Atlas, tally: Tally): void {
  const atUs = write.completedUs ?? write.invokedUs;
  const owed = write.need - atlas.lostBetween(write.invokedUs, atUs);
  tally.compare(write.durableCopies >= owed, atUs, () => {
    return `${describeOperation(write)}: acknowledged with ${write.durableCopies} durable copies, ${owed} are promised`;
  });
}

/** Its value is stored whatever else was written. */
function leavesTag(write: WriteOperation, writes: readonly WriteOperation[], causality: Causality): boolean {
  if (write.kind === 'delete') return false;
  return write.siblings || !writes.some((other) => mayWinOver(other, write, causality));
}

/** Another write that may have been there, unseen, when this one was stored. */
function mayWinOver(other: WriteOperation, write: WriteOperation, causality: Causality): boolean {
  if (other.id === write.id || other.outcome === 'fail') return false;
  if (write.completedUs !== undefined && other.invokedUs > write.completedUs) return false;
  return !causality.surely(write, other);
}
