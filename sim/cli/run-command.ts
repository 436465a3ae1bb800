/**
 * `lockstep-sim run`: seeds of scenarios in parallel, the smallest failure of each scenario made small, and a summary.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import { renderFailureLine } from '../../reports/terminal.ts';
import { scenarios } from '../../scenarios/catalogue.ts';
import type { InvariantName } from '../check/report.ts';
import { formatPlan } from '../plan/plan.ts';
import { buildDirectory } from '../pool/build.ts';
import { Pool } from '../pool/pool.ts';
import { loadOwn } from '../embedding/own-file.ts';
import type { Own } from '../run/own.ts';
import type { Failure, RunResult, Shrunk, Summary } from '../run/result.ts';
import { brokenInvariant, summarize, summarizeAll } from '../run/result.ts';
import type { Task } from '../run/task.ts';
import { mustFindScenario, planOfSeed } from '../run/task.ts';
import { mustGetPlant, plant } from './planting.ts';
import { startProgress } from './progress.ts';

export interface RunOptions {
  /** Names; empty for all, or for the planted bug's own. */
  readonly scenarios: readonly string[];
  readonly firstSeed: number;
  /** Seeds per scenario; undefined for as many as `forMs` allows. */
  readonly seedCount: number | undefined;
  /** Begin no run after so many milliseconds, except the first of each scenario: what never ran has not passed. */
  readonly forMs: number | undefined;
  readonly jobs: number;
  /** Where failing plans go. */
  readonly out: string;
  readonly plant: string | undefined;
  /** The module of the user's own scenarios and invariants. */
  readonly ownFile: string | undefined;
  /** Begin no run of a scenario that has failed. */
  readonly untilFailure: boolean;
}

type SeedTask = Task & { readonly kind: 'seed' };

/** Runs, shrinks, writes failing plans, and sums up. */
export async function runScenarios(options: RunOptions): Promise<Summary> {
  mustBeSeeds(options);
  const own = await loadOwn(options.ownFile);
  const names = namesToRun(options, own);
  const build = options.plant === undefined ? buildDirectory : await plant(mustGetPlant(options.plant));
  const pool = new Pool(build, options.jobs, options.ownFile);
  try {
    const results = await runSeeds(pool, names, options);
    const summaries = [];
    for (const [name, ofScenario] of results) {
      summaries.push(summarize(name, ofScenario, await explain(pool, ofScenario, options, own)));
    }
    return summarizeAll(summaries);
  } finally {
    await pool.close();
  }
}

/** Throws `BadRequest` for seeds that no replay could name. */
function mustBeSeeds({ firstSeed, seedCount = 1 }: RunOptions): void {
  if (seedCount - 1 <= Number.MAX_SAFE_INTEGER - firstSeed) return;
  const detail = `${seedCount} seeds from ${firstSeed} on go beyond the last one, ${Number.MAX_SAFE_INTEGER}`;
  throw new LockstepError('BadRequest', detail);
}

function namesToRun(options: RunOptions, own: Own): readonly string[] {
  for (const name of options.scenarios) mustFindScenario(name, own);
  if (options.scenarios.length > 0) return options.scenarios;
  if (options.plant !== undefined) return [mustGetPlant(options.plant).scenario];
  return (own.scenarios.length > 0 ? own.scenarios : scenarios).map((scenario) => scenario.name);
}

async function runSeeds(
  pool: Pool,
  names: readonly string[],
  options: RunOptions,
): Promise<ReadonlyMap<string, RunResult[]>> {
  const results = new Map<string, RunResult[]>(names.map((name) => [name, []]));
  const failed = new Set<string>();
  let failures = 0;
  const progress = startProgress(
    options.seedCount === undefined ? undefined : options.seedCount * names.length,
  );
  const wanted = (name: string): boolean => !(options.untilFailure && failed.has(name));
  try {
    await pool.performAll(seedTasks(names, options, wanted), (task, answer) => {
      if (answer.kind !== 'ran') return;
      results.get(task.scenario)?.push(answer.result);
      if (answer.result.verdict === 'failed') {
        failures += 1;
        failed.add(task.scenario);
        progress.failed(renderFailureLine(answer.result));
      }
      progress.ran(failures, task.scenario);
    });
  } finally {
    progress.stop();
  }
  for (const ofScenario of results.values()) ofScenario.sort((left, right) => left.seed - right.seed);
  return results;
}

/** With a number of seeds scenario by scenario, with a duration seed by seed, so that all get their share. */
function* seedTasks(
  names: readonly string[],
  options: RunOptions,
  wanted: (name: string) => boolean,
): Generator<SeedTask> {
  const { firstSeed, seedCount, forMs } = options;
  const endMs = forMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + forMs;
  const seeds = seedCount ?? Number.MAX_SAFE_INTEGER - firstSeed + 1;
  const rounds = forMs === undefined ? names.map((name) => [name]) : [names];
  for (const together of rounds) {
    for (let index = 0; index < seeds; index++) {
      for (const scenario of together) {
        if (index > 0 && performance.now() >= endMs) return;
        if (wanted(scenario)) yield { kind: 'seed', scenario, seed: firstSeed + index };
      }
      if (!together.some(wanted)) break;
    }
  }
}

/** The failure of the smallest seed, made small, with its plan on disk; undefined when nothing failed. */
async function explain(
  pool: Pool,
  results: readonly RunResult[],
  options: RunOptions,
  own: Own,
): Promise<Failure | undefined> {
  const result = results.find((one) => one.verdict === 'failed');
  if (result === undefined) return undefined;
  const added = [
    ...(options.plant === undefined ? [] : ['--plant', options.plant]),
    ...(options.ownFile === undefined ? [] : ['--scenarios', options.ownFile]),
  ];
  const broken = brokenInvariant(result);
  if (broken === undefined || broken.vacuous) {
    return {
      result,
      shrunk: undefined,
      replay: ['replay', result.scenario, '--seed', String(result.seed), ...added],
    };
  }
  const shrunk = await shrink(pool, result, broken.invariant);
  await mkdir(options.out, { recursive: true });
  const stem = join(options.out, `${result.scenario}-${result.seed}`);
  await writeFile(`${stem}.json`, formatPlan(planOfSeed(result.scenario, result.seed, own)));
  await writeFile(`${stem}.min.json`, formatPlan(shrunk.plan));
  return { result, shrunk, replay: ['replay', `${stem}.min.json`, ...added] };
}

async function shrink(pool: Pool, { scenario, seed }: RunResult, invariant: InvariantName): Promise<Shrunk> {
  const found: Shrunk[] = [];
  const tasks: Task[] = [{ kind: 'shrink', scenario, seed, invariant }];
  await pool.performAll(tasks.values(), (_, answer) => {
    if (answer.kind === 'shrunk') found.push(answer.shrunk);
  });
  const [shrunk] = found;
  if (shrunk === undefined) throw new Error('the worker did not answer what it was asked');
  return shrunk;
}
