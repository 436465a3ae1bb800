/** What a node counts of its transactions, and the families that show it. */
import type { FamilySource, Sample } from '../metrics/family.ts';
import { noLabels } from '../metrics/family.ts';
import { LabelledFamily } from '../metrics/labelled-family.ts';
import { RollingHistogram } from '../metrics/rolling-histogram.ts';
import type { OperatorDecision } from './formats/outcomes.ts';
import { abortReasons, operatorDecisions } from './formats/outcomes.ts';
import type { ReportedVote } from './formats/messages.ts';

export type PhaseName = 'prepare' | 'decision' | 'commit' | 'total';
export type RecoveryOutcome = (typeof recoveryOutcomes)[number];

const phaseNames: readonly PhaseName[] = ['prepare', 'decision', 'commit', 'total'];
const recoveryOutcomes = [
  'recommitted',
  'reprepared',
  'respread',
  'committed',
  'aborted',
  'damaged',
] as const;
/** Measurements between two turns of the histograms. */
const turnCount = 16_384;

/** What can only be asked at the moment of publication. */
export interface TransactionGauges {
  /** Branches here that have voted and wait for the outcome. */
  readonly prepared: () => number;
  /** Transactions that this node coordinates and whose decision not every branch has acknowledged, or is not known. */
  readonly inDoubt: () => number;
  /** Age of the oldest of both, milliseconds. */
  readonly oldestAgeMs: () => number;
  readonly locks: () => number;
}

export class TransactionMetrics {
  readonly #outcomes = new LabelledFamily({
    name: 'svc_transactions_total',
    help: 'Transactions coordinated here, by outcome: committed, in_doubt, or why they were aborted.',
    type: 'counter',
    labels: ['outcome'],
  });
  readonly #votes = new LabelledFamily({
    name: 'svc_transaction_branches_total',
    help: 'Branches asked of this node, by their vote.',
    type: 'counter',
    labels: ['vote'],
  });
  readonly #recoveries = new LabelledFamily({
    name: 'svc_transaction_recoveries_total',
    help: 'Entries of the in-doubt log that were taken up again, by what became of them.',
    type: 'counter',
    labels: ['outcome'],
  });
  readonly #heuristics = new LabelledFamily({
    name: 'svc_transaction_heuristics_total',
    help: 'Decisions of operators: branches by commit, rollback (mixed: against the coordinator’s); lost branches and outcomes abandoned, and decisions by hand whose coordinator is gone.',
    type: 'counter',
    labels: ['decision'],
  });
  readonly #phases = new Map<PhaseName, RollingHistogram>(
    phaseNames.map((name) => [name, new RollingHistogram()]),
  );
  #recorded = 0;
  /** Prepares that were refused because a key belonged to another transaction. */
  lockConflicts = 0;

  /** Every counter begins at 0, so that its first event shows as a rate. */
  constructor() {
    for (const outcome of ['committed', 'in_doubt', ...abortReasons]) this.#outcomes.child(outcome);
    for (const vote of ['commit', 'read_only', 'abort', 'alone']) this.#votes.child(vote);
    for (const outcome of recoveryOutcomes) this.#recoveries.child(outcome);
    for (const decision of [...operatorDecisions, 'mixed']) this.#heuristics.child(decision);
  }

  concluded(outcome: string): void {
    this.#outcomes.child(outcome).value += 1;
  }

  /** One that is doubtful is none. */
  voted(vote: ReportedVote | 'alone'): void {
    if (vote !== 'doubtful') this.#votes.child(vote === 'readOnly' ? 'read_only' : vote).value += 1;
  }

  recovered(outcome: RecoveryOutcome): void {
    this.#recoveries.child(outcome).value += 1;
  }

  decidedByOperator(decision: OperatorDecision | 'mixed'): void {
    this.#heuristics.child(decision).value += 1;
  }

  took(phase: PhaseName, latencyUs: number): void {
    const histogram = this.#phases.get(phase);
    if (histogram === undefined) return;
    histogram.record(Math.max(0, latencyUs));
    // Keeps to the recent past without a timer of its own.
    this.#recorded += 1;
    if (this.#recorded % turnCount !== 0) return;
    for (const one of this.#phases.values()) one.turn();
  }

  families(gauges: TransactionGauges): readonly FamilySource[] {
    return [
      this.#outcomes,
      this.#votes,
      this.#recoveries,
      this.#heuristics,
      single('svc_transaction_lock_conflicts_total', 'counter', 'Prepares refused for a locked key.', () => {
        return this.lockConflicts;
      }),
      single(
        'svc_transactions_prepared',
        'gauge',
        'Branches here that wait for the outcome.',
        gauges.prepared,
      ),
      single(
        'svc_transactions_in_doubt',
        'gauge',
        'Transactions of this node not yet acknowledged by every branch.',
        gauges.inDoubt,
      ),
      single('svc_transaction_locks', 'gauge', 'Keys locked by transactions now.', gauges.locks),
      single(
        'svc_transaction_oldest_age_seconds',
        'gauge',
        'Age of the oldest transaction that waits here.',
        () => gauges.oldestAgeMs() / 1000,
      ),
      {
        name: 'svc_transaction_phase_latency_seconds',
        help: 'Seconds that the phases of transactions take: prepare, decision, commit, total; mean, percentiles, longest.',
        type: 'gauge',
        labels: ['phase', 'rollup'],
        collect: () => [...this.#phases].flatMap(([phase, histogram]) => rollupsOf(phase, histogram)),
      },
    ];
  }
}

function rollupsOf(phase: PhaseName, histogram: RollingHistogram): readonly Sample[] {
  const { mean, p95, p99, p999, max } = histogram.rollup();
  const rows = [
    ['mean', mean],
    ['0.95', p95],
    ['0.99', p99],
    ['0.999', p999],
    ['max', max],
  ] as const;
  return rows.map(([rollup, value]) => ({ labels: { phase, rollup }, value: value / 1e6 }));
}

function single(name: string, type: 'counter' | 'gauge', help: string, read: () => number): FamilySource {
  return { name, type, help, labels: [], collect: () => [{ labels: noLabels, value: read() }] };
}
