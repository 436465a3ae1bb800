/** Results of runs as plain data: they cross worker threads, become JSON, and are rendered by reports. */
import type { CheckReport, ReportedInvariant } from '../check/report.ts';
import type { CoverageSummary, TableCoverage } from '../coverage/coverage.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import type { Plan } from '../plan/plan.ts';
import type { FailureCluster } from './signature.ts';
import { clustersOf, signatureOf } from './signature.ts';

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
  /** Seeds that failed, smallest first, at most `failedSeedsMax`. */
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

/** Most failed seeds that are named; further ones would show the same causes again. */
const failedSeedsMax = 20;

/** Sums up a scenario's results, which may come in any order. */
export function summarize(
  name: string,
  results: readonly RunResult[],
  failure: Failure | undefined,
): ScenarioSummary {
  const clusters = clustersOf(results);
  const count = (verdict: Verdict): number => results.filter((result) => result.verdict === verdict).length;
  return {
    name,
    seeds: results.length,
    passed: count('passed'),
    failed: count('failed'),
    unknown: count('unknown'),
    events: sum(results, (result) => result.events),
    operations: sum(results, (result) => result.outcomes.ok + result.outcomes.fail + result.outcomes.unknown),
    virtualMs: Math.round(sum(results, (result) => result.virtualUs) / 1000),
    wallMs: Math.round(sum(results, (result) => result.wallMs)),
    checks: addChecks(results),
    struck: addStruck(results),
    failedSeeds: failedSeedsOf(results),
    broken: brokenBySeed(results),
    clusters,
    failure: failure === undefined ? undefined : besideOthers(failure, clusters),
  };
}

/** The failure, with how many other seeds failed, and how many of them the same way. */
function besideOthers(failure: Failure, clusters: readonly FailureCluster[]): Failure {
  const all = clusters.reduce((total, { count }) => total + count, 0);
  const same = clusters.find(({ signature }) => signature === signatureOf(failure.result));
  const seeds = same?.seeds.filter((seed) => seed !== failure.result.seed) ?? [];
  return {
    ...failure,
    others: { failed: Math.max(0, all - 1), sameWay: Math.max(0, (same?.count ?? 1) - 1), seeds },
  };
}

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

function failedSeedsOf(results: readonly RunResult[]): readonly number[] {
  const seeds = results.filter((result) => result.verdict === 'failed').map((result) => result.seed);
  return seeds.sort((left, right) => left - right).slice(0, failedSeedsMax);
}

function brokenBySeed(results: readonly RunResult[]): ScenarioSummary['broken'] {
  const broken: Partial<Record<ReportedInvariant, number[]>> = {};
  for (const { seed, reports } of results.toSorted((left, right) => left.seed - right.seed)) {
    for (const { invariant, ok } of reports) {
      if (ok) continue;
      const seeds = (broken[invariant] ??= []);
      if (seeds.length < failedSeedsMax) seeds.push(seed);
    }
  }
  return broken;
}

function addChecks(results: readonly RunResult[]): ScenarioSummary['checks'] {
  const checks: Partial<Record<ReportedInvariant, { checked: number; skipped: number }>> = {};
  for (const report of results.flatMap((result) => result.reports)) {
    const total = (checks[report.invariant] ??= { checked: 0, skipped: 0 });
    total.checked += report.checked;
    total.skipped += report.skipped;
  }
  return checks;
}

function addStruck(results: readonly RunResult[]): ScenarioSummary['struck'] {
  const struck: Partial<Record<FaultKind, number>> = {};
  for (const result of results) {
    for (const [kind, count] of Object.entries(result.struck) as [FaultKind, number][]) {
      struck[kind] = (struck[kind] ?? 0) + count;
    }
  }
  return struck;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
