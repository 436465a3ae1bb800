/**
 * How long nodes remember transactions (`transaction_retention_seconds`):
 *
 * - not for less (`outcome-stability`, INV2): until then a coordinator that is asked for a committed transaction does not
 *   answer that it knows none;
 * - not for ever (`no-dangling-transactions`, INV3): once that time is over and nothing new has begun, no disk holds an
 *   outcome or an idempotency record.
 *
 * Skipped: outcomes that end with an incarnation (aborts, and what was committed without a decision), and records that
 * cannot be read.
 */
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** A coordinator's answer that it knows nothing of a transaction. */
export interface ForgottenAnswer {
  readonly atUs: number;
  readonly node: string;
  readonly xid: string;
}

/** Outcomes and idempotency records on one node's disk after the retention time. */
export interface RecordsKept {
  readonly node: string;
  readonly atUs: number;
  readonly names: readonly string[];
}

/**
 * Checks that no outcome is forgotten too early. `decidedUs`: when each decision to commit was durable. `retentionUs`:
 * undefined where nodes may forget earlier.
 */
export function checkForgotten(
  answers: readonly ForgottenAnswer[],
  decidedUs: ReadonlyMap<string, number>,
  retentionUs: number | undefined,
): CheckReport {
  const tally = new Tally('outcome-stability');
  for (const { atUs, node, xid } of answers) {
    const sinceUs = decidedUs.get(xid);
    if (sinceUs === undefined || retentionUs === undefined || atUs - sinceUs >= retentionUs) tally.skip();
    else
      tally.compare(false, atUs, () => {
        return `${node} knows nothing of ${xid}, which it decided to commit ${atUs - sinceUs} us before`;
      });
  }
  return tally.report();
}

/** Checks that what is older than the retention time is dropped. */
export function checkRecordsKept(kept: readonly RecordsKept[]): CheckReport {
  const tally = new Tally('no-dangling-transactions');
  for (const { node, atUs, names } of kept)
    tally.compare(names.length === 0, atUs, () => {
      return `${node} keeps ${names.length} records beyond the retention time: ${names.slice(0, 3).join(', ')}`;
    });
  return tally.report();
}
