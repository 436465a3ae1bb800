/**
 * `hint-delivery` (INV27), hints: a kept write is given up only once its replica holds it. Read off the disks: when a
 * node removes a hint, or leaves with it, the replica's own disk covers every value of it, or another node keeps a
 * hint for it that does; where the replica is no member any more, the disks of all owners do. What is still kept at
 * the end is what the node counts as kept.
 *
 * Skipped: hints that were too old or unreadable (counted as expired), and those whose replica's context has been
 * pruned.
 */
import type { BadEvent, CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** What a witness of the disks found. */
export interface HintRecords {
  /** Hints removed, or left with. */
  readonly removed: number;
  readonly skipped: number;
  readonly forgotten: readonly BadEvent[];
}

/** At the end, per node: hints on its disk, and the gauge `svc_hints_kept`. */
export interface HintBalance {
  readonly node: string;
  readonly atUs: number;
  readonly onDisk: number;
  readonly counted: number;
}

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
