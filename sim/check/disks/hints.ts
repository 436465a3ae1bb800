/**
 * `hint-delivery` (INV27), hints: a node gives up a hint only once its replica holds the writes. The evidence is on the
 * disks. When a node removes a hint, or leaves with it, the replica's disk covers every value of the hint, or another
 * node keeps an equivalent hint. If the replica is no longer a member, the disks of all owners cover it. At the end,
 * the hints on a disk equal the number that the node counts.
 *
 * Skipped: expired or unreadable hints (counted as expired), and hints whose replica's context has been pruned.
 */
import { invariant } from '../invariant.ts';
import type { BadEvent, CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** Findings of the object observer. */
export interface HintRecords {
  /** Number of hints removed, or held by a node that left. */
  readonly removed: number;
  readonly skipped: number;
  readonly forgotten: readonly BadEvent[];
}

/** Per node at the end: hints on its disk, and the gauge `svc_hints_kept`. */
export interface HintBalance {
  readonly node: string;
  readonly atUs: number;
  readonly onDisk: number;
  readonly counted: number;
}

/** The evidence of one run. */
export interface HintEvidence {
  readonly hints: HintRecords;
  readonly hintBalances: readonly HintBalance[];
}

/** The row of `hint-delivery`. */
export const hintDeliveryRow = invariant({
  name: 'hint-delivery',
  code: 'INV27',
  promise: 'no hint is dropped before its write arrives',
  gravity: 'data',
  breach: 'a write that was kept for an absent replica never reaches it',
  needs: ['disk-records', 'quiet-cluster'],
  everydayFloor: 3,
  check: ({ hints, hintBalances }: HintEvidence) => checkHints(hints, hintBalances),
});

/** Checks removed hints and the final balance of every node. */
export function checkHints(
  { removed, skipped, forgotten }: HintRecords,
  balances: readonly HintBalance[],
): CheckReport {
  const tally = new Tally('hint-delivery');
  for (let count = forgotten.length; count < removed - skipped; count++) tally.compare(true, 0, () => '');
  for (const { atUs, text } of forgotten) tally.compare(false, atUs, () => text);
  for (const { node, atUs, onDisk, counted } of balances) {
    tally.compare(onDisk === counted, atUs, () => {
      return `${node} counts ${counted} hints; ${onDisk} are on its disk`;
    });
  }
  tally.skip(skipped);
  return tally.report();
}
