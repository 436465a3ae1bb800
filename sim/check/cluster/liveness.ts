/**
 * `liveness` (INV22), liveness after the heal: every node coordinates a transaction over all primaries within the time
 * allowed for settling. No lock, branch or queue entry of the storm may therefore block it. No client still waits for
 * an answer, because its patience is bounded. Skipped: clusters that lost a node for good, whose keys have no primary
 * until it is replaced. During the faults: answer-times.ts.
 */
import type { TransactionHistory } from '../../evidence/transactions.ts';
import { describeTransaction } from '../../evidence/transactions.ts';
import type { AnswerTime } from './answer-times.ts';
import { checkAnswerTimes } from './answer-times.ts';
import type { QuietRecord } from './quiet.ts';
import { checkQuiet } from './quiet.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally, uncounted } from '../report.ts';

/** The probe transaction of one node. */
export interface LivenessRecord {
  readonly node: string;
  /** The first attempt, and the success or the end of the budget, in virtual microseconds. */
  readonly sinceUs: number;
  readonly atUs: number;
  readonly committed: boolean;
}

/** The nodes when the cluster was quiet, and the transactions; undefined if nothing observed any. */
export interface LivenessEvidence {
  readonly quiet: { readonly nodes: readonly QuietRecord[]; readonly clientsBusy: number };
  readonly answerTimes: readonly AnswerTime[];
  readonly transactions:
    | {
        readonly history: TransactionHistory;
        readonly liveness: readonly LivenessRecord[];
        readonly answerUsMax: number;
      }
    | undefined;
}

/** The row of `liveness`. */
export const livenessRow = invariant({
  name: 'liveness',
  code: 'INV22',
  promise: 'nodes answer in time and recover in a minute',
  gravity: 'availability',
  breach:
    'clients wait beyond their time, or the cluster does not recover by itself from a fault that is over',
  needs: ['quiet-cluster'],
  everydayFloor: 10,
  check: ({ quiet, answerTimes, transactions }: LivenessEvidence) =>
    joinReports(
      uncounted(checkAnswerTimes(answerTimes)),
      checkQuiet(quiet.nodes, quiet.clientsBusy),
      transactions && checkLiveness(transactions.liveness, transactions.history, transactions.answerUsMax),
    ),
});

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
