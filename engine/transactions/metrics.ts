/** The transaction metrics of one node: counters, phase latencies, and the metric families that publish them. */
import type { FamilySource, Sample } from '../metrics/family.ts';
import { counterOf, gaugeOf } from '../metrics/family.ts';
import { LabelledFamily } from '../metrics/labelled-family.ts';
import { NativeHistogram } from '../metrics/native-histogram.ts';
import { RollingHistogram } from '../metrics/rolling-histogram.ts';
import type { OperatorDecision } from './formats/outcomes.ts';
import { abortReasons, operatorDecisions } from './formats/outcomes.ts';
import type { ReportedVote } from './formats/messages.ts';

/** A phase of a transaction at its coordinator. `total` is from the request to the answer. */
export type PhaseName = 'prepare' | 'decision' | 'commit' | 'total';
/** What a start did with one entry of the in-doubt log. */
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
/** How many latencies are recorded between two turns of the histograms. */
const turnCount = 16_384;

/** Values that are read at each publication. */
export interface TransactionGauges {
  /** Prepared branches on this node that wait for the outcome. */
  readonly prepared: () => number;
  /**
   * Transactions that this node coordinates and that are not settled: some branch has not acknowledged the decision, or
   * the decision is unknown.
   */
  readonly inDoubt: () => number;
  /** Age of the oldest prepared or in-doubt transaction, in milliseconds. */
  readonly oldestAgeMs: () => number;
  /** Keys that transactions lock now. */
  readonly locks: () => number;
}

/** Counters and latencies of this node's transactions. */
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
  readonly #durations = new NativeHistogram({
    name: 'svc_transaction_phase_duration_seconds',
    help: 'Seconds that the phases of transactions take: prepare, decision, commit, total.',
    labels: ['phase'],
  });
  readonly #phases = new Map<PhaseName, RollingHistogram>(
    phaseNames.map((name) => [name, new RollingHistogram()]),
  );
  #recorded = 0;
  /** Prepare requests that were refused because another transaction held a lock on a key. */
  lockConflicts = 0;

  /** Creates every labelled counter at 0, so that its first event shows as a rate. */
  constructor() {
    for (const phase of phaseNames) this.#durations.begin(phase);
    for (const outcome of ['committed', 'in_doubt', ...abortReasons]) this.#outcomes.child(outcome);
    for (const vote of ['commit', 'read_only', 'abort', 'alone']) this.#votes.child(vote);
    for (const outcome of recoveryOutcomes) this.#recoveries.child(outcome);
    for (const decision of [...operatorDecisions, 'mixed']) this.#heuristics.child(decision);
  }

  /** Counts a transaction coordinated here. `outcome`: `committed`, `in_doubt` or an abort reason. */
  concluded(outcome: string): void {
    this.#outcomes.child(outcome).value += 1;
  }

  /** Counts a branch's vote. A doubtful vote is not counted. */
  voted(vote: ReportedVote | 'alone'): void {
    if (vote !== 'doubtful') this.#votes.child(vote === 'readOnly' ? 'read_only' : vote).value += 1;
  }

  /** Counts one entry of the in-doubt log that a start took up. */
  recovered(outcome: RecoveryOutcome): void {
    this.#recoveries.child(outcome).value += 1;
  }

  /** Counts an operator's decision. `mixed`: it contradicts the coordinator's decision. */
  decidedByOperator(decision: OperatorDecision | 'mixed'): void {
    this.#heuristics.child(decision).value += 1;
  }

  /** Records the latency of a phase, in microseconds. */
  took(phase: PhaseName, latencyUs: number): void {
    const histogram = this.#phases.get(phase);
    if (histogram === undefined) return;
    histogram.record(Math.max(0, latencyUs));
    this.#durations.record(Math.max(0, latencyUs), phase);
    // Turns the histograms by count, so that they cover the recent past without a timer.
    this.#recorded += 1;
    if (this.#recorded % turnCount !== 0) return;
    for (const one of this.#phases.values()) one.turn();
  }

  /** The metric families of transactions, for the registry. */
  families(gauges: TransactionGauges): readonly FamilySource[] {
    return [
      this.#outcomes,
      this.#votes,
      this.#recoveries,
      this.#heuristics,
      this.#durations,
      counterOf(
        'svc_transaction_lock_conflicts_total',
        'Prepares refused for a locked key.',
        () => this.lockConflicts,
      ),
      gaugeOf('svc_transactions_prepared', 'Branches here that wait for the outcome.', gauges.prepared),
      gaugeOf(
        'svc_transactions_in_doubt',
        'Transactions of this node not yet acknowledged by every branch.',
        gauges.inDoubt,
      ),
      gaugeOf('svc_transaction_locks', 'Keys locked by transactions now.', gauges.locks),
      gaugeOf(
        'svc_transaction_oldest_age_seconds',
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
