/** Results of runs as plain data: they cross worker threads, become JSON, and are rendered by reports. */
import type { Outcome } from '../evidence/history.ts';
import type { CheckReport, ReportedInvariant } from '../check/report.ts';
import type { CoverageSummary, TableCoverage } from '../coverage/coverage.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import type { Plan } from '../plan/plan.ts';
import type { FailureCluster } from './signature.ts';

/**
 * `unknown`: the run exceeded its budget of events before the checks could decide, or the plan's floors name no
 * invariant.
 */
export type Verdict = 'passed' | 'failed' | 'unknown';

/** Operations by outcome. */
export interface OutcomeCounts {
  readonly ok: number;
  readonly fail: number;
  readonly unknown: number;
}

/** A fault of the plan that was not injected. */
export interface MissedFault {
  readonly id: string;
  readonly kind: FaultKind;
  readonly targets: readonly string[];
  /** The storm ended before its instant or its event came, or its target was down, gone or idle at that moment. */
  readonly why: 'its moment did not come' | 'there was nothing to strike';
}

/** The result of one run. */
export interface RunResult {
  readonly scenario: string;
  readonly seed: number;
  readonly verdict: Verdict;
  readonly reports: readonly CheckReport[];
  /** SHA-256 of the trace, 64 hexadecimal digits. */
  readonly digest: string;
  /** Number of events of the world's agenda. */
  readonly events: number;
  /** Number of those events that ran code of a node. */
  readonly nodeEvents: number;
  readonly outcomes: OutcomeCounts;
  readonly virtualUs: number;
  readonly wallMs: number;
  /** Number of injected faults, by kind. */
  readonly struck: Readonly<Partial<Record<FaultKind, number>>>;
  /**
   * Faults that were not injected, in the plan's order. Among drawn faults some always are: two may need the same node.
   */
  readonly missed: readonly MissedFault[];
  /** Why the verdict is `unknown`; empty otherwise. */
  readonly because: string;
  /** The run's thread ran out of memory (out-of-memory.ts): nothing else of the run is known. */
  readonly outOfMemory?: true;
}

/** The result of shrinking a failing plan. */
export interface Shrunk {
  readonly plan: Plan;
  readonly result: RunResult;
  /** Number of runs that shrinking took. */
  readonly runs: number;
  /** No single fault, operation or other item can be left out, and no fault be milder; otherwise the time was up. */
  readonly minimal: boolean;
  /** Sizes before and after shrinking; operations of all sorts of clients together. */
  readonly operations: readonly [before: number, after: number];
  readonly faults: readonly [before: number, after: number];
}

/** A failing run, and how to replay it. */
export interface Failure {
  readonly result: RunResult;
  readonly shrunk: Shrunk | undefined;
  /** Arguments of `lockstep-sim` that replay the failure; with the shrunk plan if there is one. */
  readonly replay: readonly string[];
  /** The file of the failure's page, if one was written. */
  readonly page?: string;
  /** The other failed seeds of the scenario, and those among them that failed the same way (signature.ts). */
  readonly others?: { readonly failed: number; readonly sameWay: number; readonly seeds: readonly number[] };
  /** The files that `--keep` wrote: the plan, and a test that replays it. */
  readonly kept?: readonly string[];
  /** Arguments that shrink the plan further, if the time was up before that was done. */
  readonly shrinks?: readonly string[];
}

/** The results of all seeds of one scenario. */
export interface ScenarioSummary {
  readonly name: string;
  readonly seeds: number;
  readonly passed: number;
  readonly failed: number;
  readonly unknown: number;
  readonly events: number;
  readonly operations: number;
  readonly virtualMs: number;
  /** Milliseconds of real time, summed over the workers. */
  readonly wallMs: number;
  readonly checks: Readonly<
    Partial<Record<ReportedInvariant, { readonly checked: number; readonly skipped: number }>>
  >;
  readonly struck: Readonly<Partial<Record<FaultKind, number>>>;
  /** Seeds that failed, smallest first, at most twenty. */
  readonly failedSeeds: readonly number[];
  /**
   * The seeds in which each invariant broke, as many as are named; one cause may break several invariants in one run.
   */
  readonly broken: Readonly<Partial<Record<ReportedInvariant, readonly number[]>>>;
  /** The failures by signature, the most frequent first. */
  readonly clusters: readonly FailureCluster[];
  /** The failure of the smallest seed. */
  readonly failure: Failure | undefined;
}

/** How far a run with limited time came. */
export interface TimeLimit {
  readonly forMs: number;
  /** Scenarios of which no seed was run before the time was up. */
  readonly notReached: readonly string[];
}

/** The outcome of `lockstep-sim run`. */
export interface Summary {
  readonly passed: boolean;
  /** Some scenario has more unknown verdicts than `unknownPercentMax` allows. */
  readonly unknownBeyondCap: boolean;
  /** Scenarios of which at least one seed was run. */
  readonly scenarios: readonly ScenarioSummary[];
  /** Undefined if the number of seeds was given instead of the time. */
  readonly limit: TimeLimit | undefined;
  /** The user ended the campaign before its last seed. */
  readonly interrupted?: true;
  /** What the runs reached of the tables of coverage; undefined if it was not summed. */
  readonly coverage: CoverageSummary | undefined;
  /** The tables themselves, for a campaign's page. */
  readonly coverageTables?: readonly TableCoverage[];
}

/** Of a scenario's seeds, at most this many per hundred may end unknown. */
export const unknownPercentMax = 5;

/** Sums up all scenarios; `limit` if the time was limited, `interrupted` if the user ended the campaign. */
export function summarizeAll(
  scenarios: readonly ScenarioSummary[],
  limit?: TimeLimit,
  interrupted = false,
  coverage?: CoverageSummary,
): Summary {
  const unknownBeyondCap = scenarios.some((one) => one.unknown * 100 > one.seeds * unknownPercentMax);
  const failed = scenarios.some((one) => one.failed > 0);
  const passed = !failed && !unknownBeyondCap && !interrupted;
  return { passed, unknownBeyondCap, scenarios, limit, coverage, ...(interrupted ? { interrupted } : {}) };
}

/** The number of operations per outcome. */
export function countOutcomes(history: readonly { readonly outcome: Outcome }[]): OutcomeCounts {
  const counts = { ok: 0, fail: 0, unknown: 0 };
  for (const { outcome } of history) counts[outcome] += 1;
  return counts;
}
