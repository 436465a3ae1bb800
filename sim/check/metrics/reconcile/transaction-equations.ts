/**
 * Equations of transaction metrics. They compare outcomes with clients' answers; votes, conflicts and outcomes learned
 * with the traced steps; records resumed at a start with the disk; and gauges with the observer's tables of locks,
 * votes and acknowledgements.
 *
 * The bounds allow for transactions whose connection ended before their answer, and for those behind Redis commands,
 * whose replies do not report the outcome. For gauges they allow for an incarnation that ends between two of its own
 * statements.
 */
import type { IncarnationAccount } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal } from './claims.ts';
import type { Numbers } from './numbers.ts';

const outcomes = 'svc_transactions_total';
const branches = 'svc_transaction_branches_total';
const recoveries = 'svc_transaction_recoveries_total';
const heuristics = 'svc_transaction_heuristics_total';
const conflicts = 'svc_transaction_lock_conflicts_total';
const latency = 'svc_transaction_phase_latency_seconds';

const outcomeNames: readonly string[] = [
  'committed',
  'in_doubt',
  'force_abort',
  'conflict',
  'precondition_failed',
  'prepare_failed',
  'prepare_timeout',
  'no_targets',
  'disk_full',
];
const voteNames: readonly string[] = ['commit', 'read_only', 'abort', 'alone'];
const operatorNames: readonly string[] = ['commit', 'rollback', 'abandon', 'mixed'];
const phaseNames = ['prepare', 'decision', 'commit'] as const;

/** The claims about the transaction metrics of one account. */
export function transactionEquations(numbers: Numbers, account: IncarnationAccount): readonly Claim[] {
  return [
    ...outcomeEquations(numbers, account),
    ...branchEquations(numbers, account),
    ...recoveryEquations(numbers, account),
    ...operatorEquations(numbers, account),
    ...gaugeEquations(numbers, account),
    ...latencyEquations(numbers, account),
  ];
}

function outcomeEquations(numbers: Numbers, { truth, moment }: IncarnationAccount): readonly Claim[] {
  const { heard, ended, failed, abandoned } = truth.clients.transactions;
  // Redis commands run as transactions, and so does the removal of expired values, whichever client wrote them.
  const ofRedis = truth.redis.commands === 0 && !truth.redis.mortal ? 0 : Infinity;
  const answered = Object.values(ended).reduce((sum, count) => sum + count, 0);
  const all = numbers.sum(outcomes);
  const { begun } = truth.transactions;
  // The removal of an expired value begins at any time.
  const over = moment === 'stopped' || (moment === 'settled' && !truth.redis.mortal);
  return [
    ...outcomeNames.map((outcome) => {
      const count = ended[outcome] ?? 0;
      const counted = numbers.sum(outcomes, { outcome });
      return between(`${outcomes}, ${outcome}`, counted, count, count + abandoned + ofRedis);
    }),
    between(`${outcomes}, all`, all, over ? begun : answered, begun),
    between('transactions begun', begun, answered, heard - failed + ofRedis),
  ];
}

function branchEquations(
  numbers: Numbers,
  { truth: { transactions } }: IncarnationAccount,
): readonly Claim[] {
  const { votes, preparedSince } = transactions;
  const prepared = numbers.sum(branches, { vote: 'commit' });
  return [
    ...voteNames.map((vote) =>
      equal(`${branches}, ${vote}`, numbers.sum(branches, { vote }), votes[vote] ?? 0),
    ),
    between(`${branches}, commit, of branches prepared on the disk`, prepared, 0, preparedSince),
    equal(conflicts, numbers.sum(conflicts), transactions.conflicts),
  ];
}

/** A start resumes what it finds before the node serves. A record that it fails to read counts as damaged. */
function recoveryEquations(numbers: Numbers, { truth }: IncarnationAccount): readonly Claim[] {
  const { found, learned, recovered, unread } = truth.transactions;
  const certain = recovered && !unread && truth.alteredPlaces === 0;
  const most = unread || truth.alteredPlaces > 0 ? Infinity : 0;
  const unreadable = truth.diskErrors['read log fault'] ?? 0;
  const takenUp = (outcome: string, least: number, greatest: number): Claim =>
    between(
      `${recoveries}, ${outcome}`,
      numbers.sum(recoveries, { outcome }),
      certain ? least : 0,
      Math.max(greatest, most),
    );
  const resumed = (outcome: string, count: number): Claim =>
    takenUp(outcome, Math.max(0, count - unreadable), count);
  const heard = (outcome: string): Claim =>
    equal(`${recoveries}, ${outcome}`, numbers.sum(recoveries, { outcome }), learned[outcome] ?? 0);
  return [
    resumed('reprepared', found.prepared),
    resumed('respread', found.done),
    resumed('recommitted', found.committing),
    takenUp('damaged', found.damaged, found.damaged + unreadable),
    heard('committed'),
    heard('aborted'),
  ];
}

function operatorEquations(numbers: Numbers, { truth }: IncarnationAccount): readonly Claim[] {
  const { byOperator } = truth.transactions;
  const { resolved, resolutions } = truth.clients.transactions;
  const counted = (decision: string): number => numbers.sum(heuristics, { decision });
  return [
    ...operatorNames.map((decision) =>
      equal(`${heuristics}, ${decision}`, counted(decision), byOperator[decision] ?? 0),
    ),
    ...['commit', 'rollback', 'abandon'].map((decision) =>
      // A transaction in progress, or one whose record could not be written, has no answer that reports it.
      between(
        `${heuristics}, ${decision}, of what operators asked`,
        counted(decision),
        resolved[decision] ?? 0,
        resolutions,
      ),
    ),
  ];
}

function gaugeEquations(numbers: Numbers, { truth, moment }: IncarnationAccount): readonly Claim[] {
  const { prepared, preparedOnDisk, perhapsDecidedOnDisk, amidst } = truth.transactions;
  const { inDoubt, locks, oldestAgeMs, oldestKnown } = truth.transactions;
  if (moment === 'crashed' && amidst) return instantEquations(numbers);
  const [least, most] = prepared;
  const waiting = numbers.sum('svc_transactions_prepared');
  const age = numbers.sum('svc_transaction_oldest_age_seconds');
  return [
    between('svc_transactions_prepared', waiting, least, most),
    // A branch that received a commit may lie on the disk of a failed store and wait for a resend; so may one that an
    // operator tried to decide.
    between(
      'svc_transactions_prepared, of those on the disk',
      waiting,
      0,
      preparedOnDisk + perhapsDecidedOnDisk,
    ),
    equal('svc_transactions_in_doubt', numbers.sum('svc_transactions_in_doubt'), inDoubt),
    equal('svc_transaction_locks', numbers.sum('svc_transaction_locks'), locks),
    between(
      'svc_transaction_oldest_age_seconds',
      age,
      oldestKnown ? oldestAgeMs / 1000 : 0,
      oldestAgeMs / 1000,
    ),
  ];
}

/** In the middle of a step, gauges are only known to exist. */
function instantEquations(numbers: Numbers): readonly Claim[] {
  return [
    'svc_transactions_prepared',
    'svc_transactions_in_doubt',
    'svc_transaction_locks',
    'svc_transaction_oldest_age_seconds',
  ].map((family) => equal(`samples of ${family}`, numbers.samples(family).length, 1));
}

/** engine/metrics/histogram.test.ts covers percentiles and mean; the observer knows the maximum. */
function latencyEquations(numbers: Numbers, { truth, moment }: IncarnationAccount): readonly Claim[] {
  const { longestUs, amidst, committersKnown } = truth.transactions;
  if (moment === 'crashed' && amidst) return [];
  return phaseNames.map((phase) => {
    const name = `${latency}, longest ${phase}`;
    const least = longestUs[phase] / 1e6;
    const most = phase === 'commit' && !committersKnown ? Infinity : least;
    return between(name, numbers.sum(latency, { phase, rollup: 'max' }), least, most);
  });
}
