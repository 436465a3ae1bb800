/**
 * `timestamp-accuracy` (INV34), dates and clocks: a version is dated as the clock of its coordinator showed the time
 * when it was written, up to what clocks are apart, and its dot is ahead of that clock only where its key was: no
 * wrong clock and no forged context reaches what others write later, elsewhere. Each version is one comparison, when
 * it first lies on a disk.
 *
 * Skipped: versions of a coordinator whose clock nobody has seen asked.
 */
import type { BadEvent, CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** What a witness of the disks and clocks found. */
export interface DateRecords {
  /** Versions of which both was looked at. */
  readonly compared: number;
  readonly skipped: number;
  readonly wrong: readonly BadEvent[];
}

export function checkDates({ compared, skipped, wrong }: DateRecords): CheckReport {
  const tally = new Tally('timestamp-accuracy');
  for (let count = wrong.length; count < compared; count++) tally.compare(true, 0, () => '');
  for (const { atUs, text } of wrong) tally.compare(false, atUs, () => text);
  tally.skip(skipped);
  return tally.report();
}
