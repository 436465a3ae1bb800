/**
 * `liveness` (INV22), liveness after the heal: once all is well, every node coordinates a transaction over all
 * primaries within the time that settling may take, so no lock, no branch and no queue is left from the storm that
 * would refuse it. And no client still waits for an answer: its patience is bounded. Skipped: clusters that lost a
 * node for good, whose keys have no primary until it is replaced.
 */
import type { TransactionHistory } from '../evidence/transactions.ts';
import { describeTransaction } from '../evidence/transactions.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

export interface LivenessRecord {
  readonly node: string;
  /** When it was first asked, and when it succeeded or time was up. */
  readonly sinceUs: number;
  readonly atUs: number;
  readonly committed: boolean;
}

export function checkLiveness(
  records: readonly LivenessRecord[],
  history: TransactionHistory,
  answerUsMax: number,
): CheckReport {
  const tally = new Tally('liveness');
  for (const { node, sinceUs, atUs, committed } of records) {
    tally.compare(committed, atUs, () => {
      return `${node} carried no transaction out in ${Math.round((atUs - sinceUs) / 1000)} ms after the calm`;
    });
  }
  for (const record of history) {
    const waitedUs = (record.completedUs ?? Number.POSITIVE_INFINITY) - record.invokedUs;
    tally.compare(waitedUs <= answerUsMax, record.invokedUs, () => {
      return `${describeTransaction(record)}: nothing was heard within ${answerUsMax / 1000} ms`;
    });
  }
  return tally.report();
}
