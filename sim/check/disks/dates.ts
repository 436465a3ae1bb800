/**
 * `timestamp-accuracy` (INV34), dates and clocks. A version carries the time that its coordinator's clock showed at the
 * write, within the allowed clock difference. Its dot is ahead of that clock by more than this only where its key was, or
 * by up to twice as much where that clock has gone back. A wrong clock or a forged context therefore affects no later
 * write elsewhere. Each version is one comparison, when it first lies on a disk.
 *
 * Skipped: versions of a coordinator whose clock readings were not observed.
 */
import { invariant } from '../invariant.ts';
import type { BadEvent, CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** Findings of the date observer. */
export interface DateRecords {
  /** Number of versions whose date and dot were both judged. */
  readonly compared: number;
  readonly skipped: number;
  readonly wrong: readonly BadEvent[];
}

/** The row of `timestamp-accuracy`. */
export const timestampAccuracyRow = invariant({
  name: 'timestamp-accuracy',
  code: 'INV34',
  promise: "versions are dated by their coordinator's clock",
  gravity: 'operations',
  breach: 'one wrong clock decides over writes that others make later',
  needs: ['disk-records', 'dates'],
  check: ({ dates }: { readonly dates: DateRecords }) => checkDates(dates),
});

/** Turns the observer's findings into a report. */
export function checkDates({ compared, skipped, wrong }: DateRecords): CheckReport {
  const tally = new Tally('timestamp-accuracy');
  for (let count = wrong.length; count < compared; count++) tally.compare(true, 0, () => '');
  for (const { atUs, text } of wrong) tally.compare(false, atUs, () => text);
  tally.skip(skipped);
  return tally.report();
}
