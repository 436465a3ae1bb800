/**
 * `transfer-soundness` (INV39): a ring change loses no copy. The evidence is on the disks.
 *
 * - When a member has moved its ranges (it has pulled them to join, or pushed them to leave), each new owner of a key
 *   holds every version that all former owners in its datacenter have held since before the move began. What a majority
 *   of them has held, a majority of the new ones holds.
 * - When a member that lost its disk has rebuilt it, and at each ring that it has afterwards, it holds every version
 *   that all other owners in its datacenter have held since before it started. When it has rebuilt it, also every
 *   version that a majority of the owners in another datacenter has held so long: a quorum there may have acknowledged it.
 * - A node gives up a live copy of a key only where it owns the key no more, by the ring that it has, and after the
 *   disks of all owners hold every version of the copy. A tombstone that an owner has removed covers what it replaced.
 * - After each such removal it rests for as long as `transfer_bytes_per_second` allows for the bytes sent before.
 *
 * Skipped: versions that an owner's disk may have forgotten, or that its context has pruned; keys written during the
 * move; replacements of members that are gone for good.
 */
import { invariant } from '../invariant.ts';
import type { BadEvent, CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** Copies that a ring change moves, or makes superfluous. */
export interface TransferRecords {
  /** Number of copies looked for at their new owners, and of live copies that nodes removed. */
  readonly compared: number;
  readonly skipped: number;
  /** Copies that were not moved, or removed too early. */
  readonly lost: readonly BadEvent[];
}

/** The row of `transfer-soundness`. */
export const transferSoundnessRow = invariant({
  name: 'transfer-soundness',
  code: 'INV39',
  promise: 'a ring change loses no copy',
  gravity: 'data',
  breach: 'a new owner lacks what the former ones held, or the last copy of a write is removed',
  needs: ['disk-records'],
  check: ({ transfers }: { readonly transfers: TransferRecords }) => checkTransfers(transfers),
});

/** Turns the observers' findings into a report. */
export function checkTransfers({ compared, skipped, lost }: TransferRecords): CheckReport {
  const tally = new Tally('transfer-soundness');
  for (let count = lost.length; count < compared; count++) tally.compare(true, 0, () => '');
  for (const { atUs, text } of lost) tally.compare(false, atUs, () => text);
  tally.skip(skipped);
  return tally.report();
}
