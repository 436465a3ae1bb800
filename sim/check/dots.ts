/**
 * `causality` (INV9), causality on the disks: whatever lies there under one dot (the name of one write) is one
 * content of one key, for ever and everywhere, also after a disk was wiped or went back (of one content of each key,
 * where the dot is ahead of the clock that dated the write); and no record takes the place of another one of its key
 * without holding, or covering by its context, every value that the other one held.
 *
 * Skipped: replaced values of a life that the new record's context does not know at all (its entry was pruned), and
 * records that do not decode (another check's business).
 */
import type { BadEvent, CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** What a witness of the disks found. */
export interface DotRecords {
  /** Values seen again under a dot that was known, and replaced values looked for in what replaced them. */
  readonly compared: number;
  readonly skipped: number;
  readonly reused: readonly BadEvent[];
  readonly lost: readonly BadEvent[];
}

export function checkDots({ compared, skipped, reused, lost }: DotRecords): CheckReport {
  const tally = new Tally('causality');
  const bad = [...reused, ...lost];
  for (let count = bad.length; count < compared; count++) tally.compare(true, 0, () => '');
  for (const { atUs, text } of bad) tally.compare(false, atUs, () => text);
  tally.skip(skipped);
  return tally.report();
}
