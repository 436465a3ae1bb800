/**
 * `lockstep-sim run`: runs seeds of scenarios in parallel, shrinks the smallest failure of each scenario, and sums up.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import { renderFailureLine } from '../../reports/terminal.ts';
import { scenarios } from '../../scenarios/catalogue.ts';
import { formatPlan } from '../plan/plan.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import { loadOwn } from '../embedding/own-file.ts';
import type { Own } from '../runner/user-defined.ts';
import type { Failure, RunResult, Shrunk, Summary } from '../runner/result.ts';
import { brokenInvariant, summarize, summarizeAll } from '../runner/result.ts';
import type { Task } from '../runner/task.ts';
import { mustFindScenario, planOfSeed } from '../runner/task.ts';
import { judgedBy } from '../runner/judges.ts';
import type { Twice } from '../runner/twice.ts';
import { mutantNamed, mutateBuild } from './mutate-build.ts';
import { startProgress } from './progress.ts';

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
  /** Which seeds run a second time for `determinism`. */
  readonly twice: Twice;
  /** Writes a page of each failure beside its plan. */
  readonly pages: boolean;
}

type RunTask = Task & { readonly kind: 'seed' | 'shrink' };

/** Results of a scenario's runs so far. */
interface Findings {
  readonly results: RunResult[];
  /** A failure that was shrunk while other runs went on, with its result. */
  small: { readonly result: RunResult; readonly shrunk: Shrunk } | undefined;
  /** The first failure found; undefined if there is none, or once a worker shrinks it. */
  toShrink: RunResult | undefined;
}

/** Runs, shrinks, writes failing plans, and sums up. */
export async function runScenarios(options: RunOptions): Promise<Summary> {
  mustBeSeeds(options);
  const { forMs } = options;
  const own = await loadOwn(options.ownFile);
  const names = namesToRun(options, own);
  const build =
    options.mutant === undefined ? buildDirectory : await mutateBuild(mutantNamed(options.mutant));
  const endMs = forMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + forMs;
  const pool = new Pool(build, options.jobs, options.ownFile);
  try {
    const findings = await runSeeds(pool, names, options, endMs);
    const summaries = [];
    for (const [name, found] of findings) {
      if (found.results.length === 0) continue;
      summaries.push(summarize(name, found.results, await explain(pool, found, options, own, endMs)));
    }
    const reached = new Set(summaries.map(({ name }) => name));
    const limit =
      forMs === undefined ? undefined : { forMs, notReached: names.filter((name) => !reached.has(name)) };
    return summarizeAll(summaries, limit);
  } finally {
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
  pool: Pool,
  names: readonly string[],
  options: RunOptions,
  endMs: number,
): Promise<ReadonlyMap<string, Findings>> {
  const findings = new Map<string, Findings>(
    names.map((name) => [name, { results: [], small: undefined, toShrink: undefined }]),
  );
  const failed = new Set<string>();
  let failures = 0;
  const { seedCount, forMs } = options;
  const progress = startProgress(
    forMs !== undefined || seedCount === undefined ? undefined : seedCount * names.length,
  );
  const wanted = (name: string): boolean => !(options.untilFailure && failed.has(name));
  const tasks =
    forMs === undefined ? seedTasks(names, options, wanted) : tasksWithin(findings, options, wanted, endMs);
  try {
    await pool.performAll(tasks, (task, answer) => {
      const found = findings.get(task.scenario);
      if (found === undefined) return;
      if (answer.kind === 'shrunk') {
        const result = found.results.find(({ seed }) => seed === task.seed);
        if (result !== undefined) found.small = { result, shrunk: answer.shrunk };
      }
      if (answer.kind !== 'ran') return;
      found.results.push(answer.result);
      if (answer.result.verdict === 'failed') {
        if (!failed.has(task.scenario)) found.toShrink = answer.result;
        failures += 1;
        failed.add(task.scenario);
        progress.failed(renderFailureLine(answer.result));
      }
      progress.ran(failures, task.scenario);
    });
  } finally {
    progress.stop();
  }
  for (const { results } of findings.values()) results.sort((left, right) => left.seed - right.seed);
  return findings;
}

/** All seeds, scenario by scenario. */
function* seedTasks(
  names: readonly string[],
  { firstSeed, seedCount = 1, twice }: RunOptions,
  wanted: (name: string) => boolean,
): Generator<RunTask> {
  for (const scenario of names) {
    for (let index = 0; index < seedCount && wanted(scenario); index++) {
      yield { kind: 'seed', scenario, seed: firstSeed + index, twice };
    }
  }
}

/**
 * A seed of every scenario, then the next seed of each, until the time is up, so that all get an equal share. The first
 * failure of a scenario is shrunk at once, within half of the remaining time, because no time is left afterwards.
 */
function* tasksWithin(
  findings: ReadonlyMap<string, Findings>,
  { firstSeed, seedCount = Number.MAX_SAFE_INTEGER - firstSeed + 1, twice }: RunOptions,
  wanted: (name: string) => boolean,
  endMs: number,
): Generator<RunTask> {
  const names = [...findings.keys()];
  let begun = false;
  for (let index = 0; index < seedCount && names.some(wanted); index++) {
    for (const scenario of names) {
      for (const found of findings.values()) {
        const { toShrink } = found;
        const msMax = (endMs - performance.now()) / 2;
        if (toShrink === undefined || msMax <= 0) continue;
        found.toShrink = undefined;
        const task = shrinkTask(toShrink, msMax);
        if (task !== undefined) yield task;
      }
      if (begun && performance.now() >= endMs) return;
      begun = true;
      if (wanted(scenario)) yield { kind: 'seed', scenario, seed: firstSeed + index, twice };
    }
  }
}

/** Undefined for a failure that shrinking cannot keep: the run compared too little. */
function shrinkTask(result: RunResult, msMax: number): (RunTask & { readonly kind: 'shrink' }) | undefined {
  const broken = brokenInvariant(result);
  if (broken === undefined || broken.vacuous) return undefined;
  const { scenario, seed } = result;
  const limit = Number.isFinite(msMax) ? { msMax } : {};
  return { kind: 'shrink', scenario, seed, invariant: broken.invariant, ...limit };
}

/**
 * The shrunk failure, or the failure of the smallest seed, shrunk if time remains until `endMs`; writes its plans to
 * disk. Undefined without a failure.
 */
async function explain(
  pool: Pool,
  { results, small }: Findings,
  options: RunOptions,
  own: Own,
  endMs: number,
): Promise<Failure | undefined> {
  const result = small?.result ?? results.find((one) => one.verdict === 'failed');
  if (result === undefined) return undefined;
  const { scenario, seed } = result;
  const added = [
    ...(options.mutant === undefined ? [] : ['--mutant', mutantNamed(options.mutant).name]),
    ...(options.ownFile === undefined ? [] : ['--scenarios', options.ownFile]),
  ];
  const task = shrinkTask(result, endMs - performance.now());
  if (task === undefined) {
    return { result, shrunk: undefined, replay: ['replay', scenario, '--seed', String(seed), ...added] };
  }
  await mkdir(options.out, { recursive: true });
  const stem = join(options.out, `${scenario}-${seed}`);
  const { ownFile } = options;
  await writeFile(
    `${stem}.json`,
    formatPlan(judgedBy(planOfSeed(scenario, seed, own), own.invariants, ownFile)),
  );
  const shrunk = small?.shrunk ?? ((task.msMax ?? 1) > 0 ? await shrink(pool, task) : undefined);
  if (shrunk === undefined) {
    const shrinks = ['run', scenario, '--seed', String(seed), ...added];
    return { result, shrunk, replay: ['replay', `${stem}.json`, ...added], shrinks };
  }
  const judges = own.invariants.filter(({ name }) => name === task.invariant);
  await writeFile(`${stem}.min.json`, formatPlan(judgedBy(shrunk.plan, judges, ownFile)));
  const page =
    options.pages && performance.now() < endMs ? writePageOf(`${stem}.min.json`, added) : undefined;
  const replay = ['replay', `${stem}.min.json`, ...added];
  return { result, shrunk, replay, ...(page === undefined ? {} : { page }) };
}

/** Writes the page in a process of its own, since the engine may have a mutant; undefined if that failed. */
function writePageOf(plan: string, added: readonly string[]): string | undefined {
  const program = join(buildDirectory, 'sim/main.js');
  const { status } = spawnSync(process.execPath, [program, 'report', plan, ...added], { stdio: 'ignore' });
  return status === 0 ? plan.replace(/\.min\.json$/, '.html') : undefined;
}

async function shrink(pool: Pool, task: RunTask): Promise<Shrunk> {
  const found: Shrunk[] = [];
  await pool.performAll([task].values(), (_, answer) => {
    if (answer.kind === 'shrunk') found.push(answer.shrunk);
  });
  const [shrunk] = found;
  if (shrunk === undefined) throw new Error('the worker did not answer what it was asked');
  return shrunk;
}
