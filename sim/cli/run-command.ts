/**
 * `lockstep-sim run`: runs seeds of scenarios in parallel, shrinks the smallest failure of each scenario, and sums up.
 */
import { join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import { renderFailureLine } from '../../reports/terminal.ts';
import { scenarios } from '../../scenarios/catalogue.ts';
import { swarm } from '../../scenarios/swarm.ts';
import { Coverage } from '../coverage/coverage.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import { loadOwn } from '../embedding/own-file.ts';
import type { Own } from '../runner/user-defined.ts';
import type { Failure, RunResult, Shrunk, Summary } from '../runner/result.ts';
import { summarize, summarizeAll } from '../runner/result.ts';
import { shrinkableInvariant, shrinkFailure } from '../runner/shrink-failure.ts';
import type { Task } from '../runner/task.ts';
import { mustFindScenario, planOfSeed } from '../runner/task.ts';
import type { Twice } from '../runner/twice.ts';
import { FailureFiles } from './failure-files.ts';
import { Interruption } from './interruption.ts';
import { mutantNamed, mutateBuild } from './mutate-build.ts';
import { showShrinking, startProgress, startTimedProgress } from './progress.ts';

/** Options of `run`. */
export interface RunOptions {
  /** Scenario names; empty for all, or for the mutant's own. */
  readonly scenarios: readonly string[];
  readonly firstSeed: number;
  /** Seeds per scenario; undefined for as many as `forMs` allows. */
  readonly seedCount: number | undefined;
  /** Starts no run after this many milliseconds; one run is always made. */
  readonly forMs: number | undefined;
  readonly jobs: number;
  /** Directory for failing plans. */
  readonly out: string;
  readonly mutant: string | undefined;
  /** The module with the user's scenarios and invariants. */
  readonly ownFile: string | undefined;
  /** Starts no further run of a scenario that has failed. */
  readonly untilFailure: boolean;
  /** Starts no further run once any has failed. */
  readonly failFast: boolean;
  /** Which seeds run a second time for `determinism`. */
  readonly twice: Twice;
  /** Writes a page of each failure beside its plan. */
  readonly pages: boolean;
  /** Milliseconds of real time that shrinking a failure may take; 0: failures are not shrunk. */
  readonly shrinkMs: number;
  /** Directory in which the plans of failures are kept, each with a test; undefined: they are not. */
  readonly keep: string | undefined;
}

type SeedTask = Task & { readonly kind: 'seed' };

/** Results of a scenario's runs so far. */
interface Findings {
  readonly results: RunResult[];
  /** The first failure, which is shrunk while other runs go on, where the time is limited. */
  shrinking: { readonly result: RunResult; readonly shrunk: Promise<Shrunk | undefined> } | undefined;
}

/** What all steps of one campaign share. */
interface Campaign {
  readonly options: RunOptions;
  readonly own: Own;
  readonly pool: Pool;
  readonly interruption: Interruption;
  readonly coverage: Coverage;
  /** On the clock of `performance.now`. */
  readonly endMs: number;
}

/** Runs, shrinks, writes failing plans, and sums up. Ctrl-C ends it early, with what was found until then. */
export async function runScenarios(options: RunOptions): Promise<Summary> {
  mustBeSeeds(options);
  const { forMs } = options;
  const own = await loadOwn(options.ownFile);
  const names = namesToRun(options, own);
  const build =
    options.mutant === undefined ? buildDirectory : await mutateBuild(mutantNamed(options.mutant));
  const endMs = forMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + forMs;
  const pool = new Pool(build, options.jobs, options.ownFile);
  const interruption = new Interruption();
  const coverage = new Coverage();
  const campaign = { options, own, pool, interruption, coverage, endMs };
  try {
    const findings = await runSeeds(campaign, names);
    const summaries = [];
    for (const [name, found] of findings) {
      if (found.results.length > 0)
        summaries.push(summarize(name, found.results, await explain(campaign, found)));
    }
    const reached = new Set(summaries.map(({ name }) => name));
    const limit =
      forMs === undefined ? undefined : { forMs, notReached: names.filter((name) => !reached.has(name)) };
    const summary = summarizeAll(summaries, limit, interruption.hasCome, coverage.summary);
    return { ...summary, coverageTables: coverage.tables };
  } finally {
    interruption.forget();
    await pool.close();
  }
}

/** Throws `BadRequest` for seeds that a replay could not name. */
function mustBeSeeds({ firstSeed, seedCount = 1 }: RunOptions): void {
  if (seedCount - 1 <= Number.MAX_SAFE_INTEGER - firstSeed) return;
  const detail = `${seedCount} seeds from ${firstSeed} on go beyond the last one, ${Number.MAX_SAFE_INTEGER}`;
  throw new LockstepError('BadRequest', detail);
}

function namesToRun(options: RunOptions, own: Own): readonly string[] {
  for (const name of options.scenarios) mustFindScenario(name, own);
  if (options.scenarios.length > 0) return options.scenarios;
  if (options.mutant !== undefined) return [mutantNamed(options.mutant).scenario];
  return (own.scenarios.length > 0 ? own.scenarios : scenarios).map((scenario) => scenario.name);
}

async function runSeeds(
  campaign: Campaign,
  names: readonly string[],
): Promise<ReadonlyMap<string, Findings>> {
  const { options, pool, interruption, endMs } = campaign;
  const findings = new Map<string, Findings>(
    names.map((name) => [name, { results: [], shrinking: undefined }]),
  );
  const failed = new Set<string>();
  let failures = 0;
  const { seedCount, forMs } = options;
  const progress =
    forMs === undefined ? startProgress((seedCount ?? 1) * names.length) : startTimedProgress(forMs);
  const wanted = (name: string): boolean =>
    !interruption.hasCome &&
    !(options.untilFailure && failed.has(name)) &&
    !(options.failFast && failed.size > 0);
  const tasks =
    forMs === undefined ? seedTasks(names, options, wanted) : tasksWithin(names, options, wanted, endMs);
  const onAnswer = (scenario: string, result: RunResult): void => {
    const found = findings.get(scenario);
    found?.results.push(result);
    if (result.verdict === 'failed') {
      if (found !== undefined && !failed.has(scenario)) shrinkMeanwhile(campaign, found, result);
      failures += 1;
      failed.add(scenario);
      progress.failed(renderFailureLine(result));
    }
    progress.ran(failures, scenario);
  };
  try {
    // A run in progress at Ctrl-C is not waited for.
    await interruption.orDone(
      pool.performAll(tasks, (task, answer) => {
        if (answer.kind !== 'ran' || interruption.hasCome) return;
        campaign.coverage.add(answer.reached);
        onAnswer(task.scenario, answer.result);
      }),
    );
  } finally {
    progress.stop();
  }
  for (const { results } of findings.values()) results.sort((left, right) => left.seed - right.seed);
  return findings;
}

/**
 * Where the time is limited, the first failure of a scenario is shrunk at once, within half of the remaining time,
 * because no time is left afterwards.
 */
function shrinkMeanwhile(campaign: Campaign, found: Findings, result: RunResult): void {
  const leftMs = (campaign.endMs - performance.now()) / 2;
  if (!Number.isFinite(campaign.endMs) || leftMs <= 0) return;
  const msMax = Math.min(campaign.options.shrinkMs, leftMs);
  const shrunk = filesOf(campaign, result)
    .writeWhole(planOfSeed(result.scenario, result.seed, campaign.own))
    .then(() => shrink(campaign, result, msMax));
  // `explain` awaits it and learns of its failure; until then that must not count as one that nothing handles.
  shrunk.catch(() => undefined);
  found.shrinking = { result, shrunk };
}

/** All seeds, scenario by scenario. */
function* seedTasks(
  names: readonly string[],
  { firstSeed, seedCount = 1, twice }: RunOptions,
  wanted: (name: string) => boolean,
): Generator<SeedTask> {
  for (const scenario of names) {
    for (let index = 0; index < seedCount && wanted(scenario); index++) {
      yield { kind: 'seed', scenario, seed: firstSeed + index, twice };
    }
  }
}

/**
 * A seed of every scenario, then the next seed of each, until the time is up, so that all get an equal share. Where the
 * whole catalogue runs, every second seed is one of the swarm: its seeds differ as much as scenarios do.
 */
function* tasksWithin(
  names: readonly string[],
  { firstSeed, seedCount = Number.MAX_SAFE_INTEGER - firstSeed + 1, twice }: RunOptions,
  wanted: (name: string) => boolean,
  endMs: number,
): Generator<SeedTask> {
  const swarming = names.length > 1 && seedCount > names.length && names.includes(swarm.name);
  const others = swarming ? names.filter((name) => name !== swarm.name) : names;
  let begun = false;
  for (let index = 0; index < seedCount && names.some(wanted); index++) {
    for (const [place, scenario] of others.entries()) {
      if (begun && performance.now() >= endMs) return;
      begun = true;
      if (wanted(scenario)) yield { kind: 'seed', scenario, seed: firstSeed + index, twice };
      const seed = firstSeed + index * others.length + place;
      if (!swarming || !wanted(swarm.name) || !Number.isSafeInteger(seed)) continue;
      if (performance.now() >= endMs) return;
      yield { kind: 'seed', scenario: swarm.name, seed, twice };
    }
  }
}

/**
 * The shrunk failure, or the failure of the smallest seed, shrunk if time remains; writes its plans to disk. Undefined
 * without a failure.
 */
async function explain(campaign: Campaign, { results, shrinking }: Findings): Promise<Failure | undefined> {
  const { options, own, endMs, interruption } = campaign;
  const result = shrinking?.result ?? results.find((one) => one.verdict === 'failed');
  if (result === undefined) return undefined;
  const files = filesOf(campaign, result);
  const whole = planOfSeed(result.scenario, result.seed, own);
  if (shrinkableInvariant(result) === undefined) return files.unshrinkable(result);
  await files.writeWhole(whole);
  const mayShrink = shrinking === undefined && performance.now() < endMs && !interruption.hasCome;
  const shrunk =
    (await shrinking?.shrunk) ?? (mayShrink ? await shrink(campaign, result, options.shrinkMs) : undefined);
  const hasTime = performance.now() < endMs && !interruption.hasCome;
  return files.writeFailure(result, whole, shrunk, hasTime);
}

function filesOf({ options, own }: Campaign, { scenario, seed }: RunResult): FailureFiles {
  const stem = join(options.out, `${scenario}-${seed}`);
  return new FailureFiles({ ...options, stem }, own.invariants);
}

/** Undefined if there is no time for it. */
async function shrink(
  { pool, own, options, interruption, endMs }: Campaign,
  result: RunResult,
  msMax: number,
): Promise<Shrunk | undefined> {
  const invariant = shrinkableInvariant(result);
  if (invariant === undefined || options.shrinkMs === 0) return undefined;
  const whole = planOfSeed(result.scenario, result.seed, own);
  const shown = Number.isFinite(endMs) ? undefined : showShrinking(result, msMax);
  const signal = interruption.orAfter(msMax);
  try {
    const onProgress = shown === undefined ? {} : { onProgress: shown.now };
    return await shrinkFailure(pool, whole, result, invariant, { signal, ...onProgress });
  } finally {
    shown?.stop();
  }
}
