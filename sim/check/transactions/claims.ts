/**
 * The part of `exactly-once` about claims: before a branch under an idempotency key votes to commit, a majority of the
 * owners of each of its objects knows of the attempt. So a retry that begins elsewhere meets it.
 */
import type { BadEvent, CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** Votes to commit beside the claims before them. */
export interface ClaimRecords {
  /** Number of objects whose owners were looked at. */
  readonly compared: number;
  /** Votes that came before enough owners knew. */
  readonly bad: readonly BadEvent[];
}

/** Turns the observer's findings into a report. */
export function checkClaims({ compared, bad }: ClaimRecords): CheckReport {
  const tally = new Tally('exactly-once');
  for (let count = bad.length; count < compared; count++) tally.compare(true, 0, () => '');
  for (const { atUs, text } of bad) tally.compare(false, atUs, () => text);
  return tally.report();
}
