/**
 * `hint-delivery` (INV27), hints: a node gives up a hint only once its replica holds the writes. The evidence is on the
 * disks. When a node removes a hint, or leaves with it, the replica's disk covers every value of the hint, or another
 * node keeps an equivalent hint. If the replica is no longer a member, the disks of all owners cover it. A tombstone that
 * the replica has removed covers what it replaced. A hint that replaces another one of its key carries what that one
 * carried. At the end, the hints on a disk equal the number that the node
 * counts, and its counters equal the records of the incarnation on the disk: stored, and delivered + handed on +
 * expired. So delivered + handed on + expired + kept = stored + found at the start, less the hints that a later one
 * replaced. Where a fault hides the disk's answers from the node, the records are the most that it may count.
 *
 * A coordinator that outlives its put, or the value of a Redis command, leaves no replica without it and without a hint
 * of it: within the time that a request may take, the replica's disk has held it, or some disk a hint of it for that
 * replica.
 *
 * A hint that its replica has confirmed is not sent again and again by the same incarnation, also if its store cannot
 * remove it.
 *
 * Skipped: writes of coordinators whose disk or processor a fault hinders; expired or unreadable hints (counted as
 * expired), and hints whose replica's context has been pruned; repetitions by a node that owns the key no more, or keeps
 * a hint of it for a former member, which gives that to the owners until all have it; with `sync: N`, the counters: what one incarnation writes may become
 * durable in the next.
 */
import type { SyncLag } from '../../evidence/sync-lag.ts';
import { noLag } from '../../evidence/sync-lag.ts';
import { invariant } from '../invariant.ts';
import type { BadEvent, CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** Findings about all writes of a run. */
export interface SpreadRecords {
  /** Number of owners, beside the coordinator, of writes that were judged. */
  readonly compared: number;
  /** Number of writes that were not judged. */
  readonly skipped: number;
  readonly missed: readonly BadEvent[];
}

/** Findings about the hints that were sent. */
export interface SendRecords {
  /** Number of hints that a replica has confirmed. */
  readonly taken: number;
  readonly repeated: readonly BadEvent[];
}

/** Findings of the observers of objects and of hints on the wire. */
export interface HintRecords {
  /** Number of hints removed, or held by a node that left. */
  readonly removed: number;
  readonly skipped: number;
  readonly forgotten: readonly BadEvent[];
  /** What became of the replicas that a coordinator missed. */
  readonly spread: SpreadRecords;
  readonly sends: SendRecords;
}

/** Per node at the end: hints on its disk, and what the node counts. */
export interface HintBalance {
  readonly node: string;
  readonly atUs: number;
  readonly onDisk: number;
  /** The gauge `svc_hints_kept`. */
  readonly counted: number;
  /** Hints that the incarnation wrote to the disk, and those that it removed there. */
  readonly written: number;
  readonly erased: number;
  /** The counter `svc_hints_total`: stored; delivered, handed on or expired. */
  readonly stored: number;
  readonly ended: number;
  /** The node knows how each of its disk operations ended. */
  readonly exact: boolean;
}

/** The evidence of one run. */
export interface HintEvidence {
  readonly hints: HintRecords;
  readonly hintBalances: readonly HintBalance[];
  readonly syncLag: SyncLag;
}

/** The row of `hint-delivery`. */
export const hintDeliveryRow = invariant({
  name: 'hint-delivery',
  code: 'INV27',
  promise: 'no hint is dropped before its write arrives',
  gravity: 'data',
  breach: 'a write that was kept for an absent replica never reaches it',
  needs: ['disk-records', 'quiet-cluster', 'routes'],
  everydayFloor: 3,
  check: ({ hints, hintBalances, syncLag }: HintEvidence) => checkHints(hints, hintBalances, syncLag),
});

function addsUp({ ended, erased, stored, written, exact }: HintBalance): boolean {
  return exact ? stored === written && ended === erased : stored <= written && ended <= erased;
}

/** Checks removed hints and the final balance of every node. */
export function checkHints(
  { removed, skipped, forgotten, spread, sends }: HintRecords,
  balances: readonly HintBalance[],
  { us: lagUs }: SyncLag = noLag,
): CheckReport {
  const tally = new Tally('hint-delivery');
  for (let count = forgotten.length; count < removed - skipped; count++) tally.compare(true, 0, () => '');
  for (const { atUs, text } of forgotten) tally.compare(false, atUs, () => text);
  for (let count = spread.missed.length; count < spread.compared; count++) tally.compare(true, 0, () => '');
  for (const { atUs, text } of spread.missed) tally.compare(false, atUs, () => text);
  for (let count = sends.repeated.length; count < sends.taken; count++) tally.compare(true, 0, () => '');
  for (const { atUs, text } of sends.repeated) tally.compare(false, atUs, () => text);
  for (const balance of balances) {
    const { node, atUs, onDisk, counted } = balance;
    tally.compare(onDisk === counted, atUs, () => {
      return `${node} counts ${counted} hints; ${onDisk} are on its disk`;
    });
    if (lagUs > 0) tally.skip();
    else
      tally.compare(addsUp(balance), atUs, () => {
        const { ended, erased, stored, written } = balance;
        return `${node} counts ${stored} hints as stored, ${ended} as delivered, handed on or expired; it wrote ${written} to its disk and removed ${erased}`;
      });
  }
  tally.skip(skipped + spread.skipped);
  return tally.report();
}
