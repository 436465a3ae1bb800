/**
 * `liveness` (INV22), liveness after the heal: every node coordinates a transaction over all primaries within the time
 * allowed for settling. No lock, branch or queue entry of the storm may therefore block it. No client still waits for
 * an answer, because its patience is bounded. Skipped: clusters that lost a node for good, whose keys have no primary
 * until it is replaced.
 */
import type { TransactionHistory } from '../evidence/transactions.ts';
import { describeTransaction } from '../evidence/transactions.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** The probe transaction of one node. */
export interface LivenessRecord {
  readonly node: string;
  /** The first attempt, and the success or the end of the budget, in virtual microseconds. */
  readonly sinceUs: number;
  readonly atUs: number;
  readonly committed: boolean;
}

/** `answerUsMax`: the longest time for which a client waits for an answer, in microseconds. */
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
