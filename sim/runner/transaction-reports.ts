/** Makes the checks of transactions over the evidence of one run. */
import type { BranchesLeft } from '../check/branches-left.ts';
import { checkNothingLeft, sharedWith } from '../check/branches-left.ts';
import { checkIsolation } from '../check/isolation.ts';
import { checkLiveness } from '../check/liveness.ts';
import type { InvariantName } from '../check/invariants.ts';
import type { CheckReport } from '../check/report.ts';
import { joinReports } from '../check/report.ts';
import { checkTransactionDurability } from '../check/transaction-durability.ts';
import { checkTransactionValues } from '../check/transaction-values.ts';
import type { HeardOutcome, TransactionStep, Wipe } from '../check/transactions.ts';
import {
  buriedWith,
  checkAtomicity,
  checkNothingDangles,
  checkFinality,
  checkOnce,
  checkRetries,
  checkStability,
  decidedHeuristically,
  keysOf,
  lostWithDisks,
  withWipes,
} from '../check/transactions.ts';
import { checkLocks } from '../check/locks.ts';
import type { TransactionHistory } from '../evidence/transactions.ts';
import { answerTimeoutUs } from '../workload/workload.ts';
import { attemptsMax, firstBalance } from '../workload/transaction-client.ts';
import type { Finals } from '../workload/transaction-finals.ts';
import type { Plan } from '../plan/plan.ts';

/** A client's attempts, the reads before them and the pauses between them, in virtual microseconds. */
const answerUsMax = (attemptsMax + 4) * 2 * answerTimeoutUs;

/** The evidence about transactions of one run. */
export interface TransactionEvidence {
  readonly steps: readonly TransactionStep[];
  readonly history: TransactionHistory;
  readonly finals: Finals;
  /** Branch records on the disks at the end. */
  readonly left: readonly BranchesLeft[];
  readonly accounts: number;
  /** Nodes that died for good. */
  readonly lost: readonly string[];
  /** Those of them that were not replaced. */
  readonly missed: readonly string[];
  /** The replacement of each of the others. */
  readonly heirs: ReadonlyMap<string, string>;
  /** Losses of disks whose nodes live on. */
  readonly wipes: readonly Wipe[];
}

/** Whether the named steps are traced: the plan has transactions, or Redis commands that run as transactions. */
export function tracesSteps({
  transactionClients,
  redisOperations = [],
}: Pick<Plan, 'transactionClients' | 'redisOperations'>): boolean {
  return transactionClients > 0 || redisOperations.length > 0;
}

/** A check that is made on demand, with its invariant. */
export type NamedCheck = readonly [InvariantName, () => CheckReport];

/** The checks of transactions, by invariant. */
export function transactionChecks({
  steps: protocol,
  history,
  finals,
  left,
  accounts,
  lost,
  missed,
  heirs,
  wipes,
}: TransactionEvidence): readonly NamedCheck[] {
  const steps = withWipes(protocol, wipes);
  const gone = [...missed, ...wipes.map(({ node }) => node)];
  const tainted = keysOf(steps, decidedHeuristically(steps));
  const halfLost = keysOf(steps, new Set([...buriedWith(lost, steps, heirs), ...lostWithDisks(steps)]));
  return [
    [
      'atomicity',
      () =>
        joinReports(
          checkAtomicity(steps, lost, heirs),
          checkTransactionValues(history, accounts, firstBalance, new Set([...tainted, ...halfLost])),
        ),
    ],
    ['outcome-stability', () => checkStability(steps, [...heardIn(history), ...finals.heard])],
    [
      'no-dangling-transactions',
      () =>
        joinReports(
          checkNothingDangles(finals.dangling),
          checkNothingLeft(left, new Set([...sharedWith(gone, steps), ...unconfirmed(missed, steps)])),
        ),
    ],
    ['durable-before-ack', () => checkTransactionDurability(steps, history)],
    ['strict-serializability', () => checkIsolation(history, tainted)],
    ['lock-exclusivity', () => checkLocks(steps, heirs)],
    [
      'exactly-once',
      () => joinReports(joinReports(checkOnce(steps), checkRetries(history)), checkFinality(steps, history)),
    ],
    ['liveness', () => checkLiveness(finals.liveness, history, answerUsMax)],
  ];
}

/** A node keeps an operator's decision until the coordinator confirms it or is replaced. */
function unconfirmed(missed: readonly string[], steps: readonly TransactionStep[]): readonly string[] {
  return [...decidedHeuristically(steps)].filter((xid) => missed.some((node) => xid.startsWith(`${node}-`)));
}

function heardIn(history: TransactionHistory): readonly HeardOutcome[] {
  return history.flatMap(({ xids, completedUs, invokedUs }) =>
    xids.map((answer) => {
      const [xid = '', word] = answer.split(' ');
      const outcome = word === 'committed' || word === 'aborted' ? word : 'unknown';
      return { atUs: completedUs ?? invokedUs, xid, outcome } as const;
    }),
  );
}
