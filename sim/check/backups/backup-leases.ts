/**
 * The part of `backup-consistency` about backups whose process vanishes: a node that holds its writes back for one lets
 * them go on when the lease ends, not before and not much later. After that it refuses the backup's cut, states at its
 * release that the hold was broken, and holds for another backup. A node that crashed, stopped or stood still meanwhile is
 * skipped, and answers that were lost are.
 */
import type { LeaseRecord } from '../../evidence/backup-leases.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** Timers are up to a millisecond early, and late by what a fault of the clock does to them. */
const earlyUsMax = 1_500;
const lateUsMax = 300_000;
/** Clocks run fast or slow by so much. */
const driftPart = 0.001;

/** Judges each lease by itself. */
export function checkLeases(leases: readonly LeaseRecord[]): CheckReport {
  const tally = new Tally('backup-consistency');
  for (const lease of leases) {
    if (lease.lived) checkLease(lease, tally);
    else tally.skip();
  }
  return tally.report();
}

function checkLease(lease: LeaseRecord, tally: Tally): void {
  const { id, node, invokedUs, heldUs, leaseUs, resumedUs, lookedUs, lateCut, lateHeld, next } = lease;
  const drift = leaseUs * driftPart;
  const earliest = invokedUs + leaseUs - drift - earlyUsMax;
  const latest = heldUs + leaseUs + drift + lateUsMax;
  tally.compare(resumedUs === undefined || resumedUs >= earliest, resumedUs ?? lookedUs, () => {
    return `${node} let its writes go on ${resumedUs} us, before the lease of ${id} ended (${invokedUs} + ${leaseUs})`;
  });
  tally.compare((resumedUs ?? Infinity) <= latest || lookedUs <= latest, lookedUs, () => {
    return `${node} still holds its writes back for ${id}, whose lease ended at ${heldUs + leaseUs} us`;
  });
  if (lateCut !== undefined)
    tally.compare(lateCut === 409 || lateCut >= 500, lookedUs, () => {
      return `${node} answered ${lateCut} to a cut of ${id} after its lease`;
    });
  if (lateHeld !== undefined)
    tally.compare(!lateHeld, lookedUs, () => {
      return `${node} states after the lease of ${id} that it had held its writes without a break`;
    });
  if (next !== undefined)
    tally.compare(next.status !== 409 || !next.detail.split(/[^\w-]+/).includes(id), lookedUs, () => {
      return `${node} refuses the next backup after the lease of ${id}: ${next.detail}`;
    });
}
