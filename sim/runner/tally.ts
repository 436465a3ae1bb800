/**
 * Sums up the results of a scenario's seeds one after another, in memory that does not grow with their number, so that a
 * campaign may run millions of seeds. A tally is plain data: a campaign that goes on later saves it, and the tallies of
 * several machines are merged. The order in which results are added does not matter.
 */
import type { ReportedInvariant } from '../check/report.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import type { Failure, RunResult, ScenarioSummary, Verdict } from './result.ts';
import type { FailureCluster } from './signature.ts';
import { clusterSeedsMax, exampleOf, joinedClusters, signaturesOf } from './signature.ts';

/** What the results of a scenario add up to. Counts over all runs; lists name the smallest seeds, at most twenty. */
export interface Tally {
  readonly verdicts: Record<Verdict, number>;
  events: number;
  operations: number;
  virtualUs: number;
  /** Milliseconds of real time, summed over the threads. */
  wallMs: number;
  readonly checks: Partial<Record<ReportedInvariant, { checked: number; skipped: number }>>;
  readonly struck: Partial<Record<FaultKind, number>>;
  failedSeeds: readonly number[];
  readonly broken: Partial<Record<ReportedInvariant, readonly number[]>>;
  /** Failures by signature; `example` is of the smallest seed. */
  readonly clusters: Record<string, Omit<FailureCluster, 'signature'>>;
  /** The failure of the smallest seed. */
  firstFailure?: RunResult;
}

/** The tally of no results. */
export function emptyTally(): Tally {
  return {
    verdicts: { passed: 0, failed: 0, unknown: 0 },
    ...{ events: 0, operations: 0, virtualUs: 0, wallMs: 0 },
    ...{ checks: {}, struck: {}, failedSeeds: [], broken: {}, clusters: {} },
  };
}

/** Adds the result of one run. */
export function addResult(tally: Tally, result: RunResult): void {
  const { outcomes, seed, verdict, reports } = result;
  tally.verdicts[verdict] += 1;
  tally.events += result.events;
  tally.operations += outcomes.ok + outcomes.fail + outcomes.unknown;
  tally.virtualUs += result.virtualUs;
  tally.wallMs += result.wallMs;
  for (const { invariant, checked, skipped, ok } of reports) {
    addChecks(tally, invariant, checked, skipped);
    if (!ok) tally.broken[invariant] = smallest(tally.broken[invariant], [seed]);
  }
  for (const [kind, count] of entriesOf(result.struck))
    tally.struck[kind] = (tally.struck[kind] ?? 0) + count;
  if (verdict !== 'failed') return;
  tally.failedSeeds = smallest(tally.failedSeeds, [seed]);
  takeFirstFailure(tally, result);
  const [signature, ...others] = signaturesOf(result);
  if (signature === undefined) return;
  const beside = Object.fromEntries([...new Set(others)].map((other) => [other, 1]));
  addCluster(tally, signature, { count: 1, seeds: [seed], example: exampleOf(result), beside });
}

/** Adds the sums of other runs. */
export function addTally(tally: Tally, other: Tally): void {
  for (const verdict of ['passed', 'failed', 'unknown'] as const)
    tally.verdicts[verdict] += other.verdicts[verdict];
  tally.events += other.events;
  tally.operations += other.operations;
  tally.virtualUs += other.virtualUs;
  tally.wallMs += other.wallMs;
  for (const [invariant, { checked, skipped }] of entriesOf(other.checks))
    addChecks(tally, invariant, checked, skipped);
  for (const [kind, count] of entriesOf(other.struck)) tally.struck[kind] = (tally.struck[kind] ?? 0) + count;
  for (const [invariant, seeds] of entriesOf(other.broken))
    tally.broken[invariant] = smallest(tally.broken[invariant], seeds);
  tally.failedSeeds = smallest(tally.failedSeeds, other.failedSeeds);
  for (const [signature, cluster] of Object.entries(other.clusters)) addCluster(tally, signature, cluster);
  if (other.firstFailure !== undefined) takeFirstFailure(tally, other.firstFailure);
}

/** Number of runs. */
export function runsOf({ verdicts }: Tally): number {
  return verdicts.passed + verdicts.failed + verdicts.unknown;
}

/** The summary of a scenario; `failure`: the one that was looked into. */
export function summaryOf(name: string, tally: Tally, failure: Failure | undefined): ScenarioSummary {
  const clusters = clustersOf(tally);
  return {
    name,
    seeds: runsOf(tally),
    ...tally.verdicts,
    events: tally.events,
    operations: tally.operations,
    virtualMs: Math.round(tally.virtualUs / 1000),
    wallMs: Math.round(tally.wallMs),
    checks: tally.checks,
    struck: tally.struck,
    failedSeeds: tally.failedSeeds,
    broken: tally.broken,
    clusters,
    failure: failure === undefined ? undefined : besideOthers(failure, clusters),
  };
}

/** Sums up a scenario's results, which may come in any order. */
export function summarize(
  name: string,
  results: readonly RunResult[],
  failure: Failure | undefined,
): ScenarioSummary {
  const tally = emptyTally();
  for (const result of results) addResult(tally, result);
  return summaryOf(name, tally, failure);
}

/** The failures by signature, joined; the largest cluster first, then the one with the smallest seed. */
export function clustersOf({ clusters }: Pick<Tally, 'clusters'>): readonly FailureCluster[] {
  return joinedClusters(Object.entries(clusters).map(([signature, cluster]) => ({ signature, ...cluster })))
    .map(({ signature, seeds, count, example }) => ({ signature, seeds, count, example }))
    .toSorted((left, right) => right.count - left.count || (left.seeds[0] ?? 0) - (right.seeds[0] ?? 0));
}

/** The failure, with how many other seeds failed, and how many of them the same way. */
function besideOthers(failure: Failure, clusters: readonly FailureCluster[]): Failure {
  const all = clusters.reduce((total, { count }) => total + count, 0);
  const mine = signaturesOf(failure.result);
  const same = clusters.find(({ signature }) => mine.includes(signature));
  const seeds = same?.seeds.filter((seed) => seed !== failure.result.seed) ?? [];
  return {
    ...failure,
    others: { failed: Math.max(0, all - 1), sameWay: Math.max(0, (same?.count ?? 1) - 1), seeds },
  };
}

function takeFirstFailure(tally: Tally, result: RunResult): void {
  if (tally.firstFailure === undefined || result.seed < tally.firstFailure.seed) tally.firstFailure = result;
}

function addCluster(tally: Tally, signature: string, added: Omit<FailureCluster, 'signature'>): void {
  const known = tally.clusters[signature];
  if (known === undefined) {
    tally.clusters[signature] = added;
    return;
  }
  const { example } = (added.seeds[0] ?? Infinity) < (known.seeds[0] ?? Infinity) ? added : known;
  const [count, seeds] = [known.count + added.count, smallest(known.seeds, added.seeds)];
  const beside = { ...known.beside };
  for (const [other, times] of Object.entries(added.beside ?? {}))
    beside[other] = (beside[other] ?? 0) + times;
  tally.clusters[signature] = { count, seeds, example, beside };
}

function addChecks(tally: Tally, invariant: ReportedInvariant, checked: number, skipped: number): void {
  const total = (tally.checks[invariant] ??= { checked: 0, skipped: 0 });
  total.checked += checked;
  total.skipped += skipped;
}

/** The smallest seeds of both lists, in order. */
function smallest(seeds: readonly number[] | undefined, added: readonly number[]): readonly number[] {
  return [...(seeds ?? []), ...added].sort((left, right) => left - right).slice(0, clusterSeedsMax);
}

function entriesOf<Key extends string, Value>(
  record: Readonly<Partial<Record<Key, Value>>>,
): readonly [Key, Value][] {
  return Object.entries(record) as [Key, Value][];
}
