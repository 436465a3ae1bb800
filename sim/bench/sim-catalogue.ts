/**
 * The first table of `npm run bench sim`: what `lockstep-sim run` achieves. Seeds of the whole catalogue, every invariant
 * judged, on the threads of a pool; another build can be measured beside this one, in turns. An operation is one of the
 * clients (objects and transactions).
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { scenarios } from '../../scenarios/catalogue.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import type { RunResult } from '../runner/result.ts';
import type { Task } from '../runner/task.ts';
import { progress } from './bench-process.ts';
import type { OtherBuild } from './servers/other-build.ts';
import { figure, table } from './figures.ts';

/** Options of this table. */
export interface CatalogueOptions {
  /** Seeds of each scenario that are measured; one more warms the threads up. */
  readonly seeds: number;
  readonly jobs: number;
  /** Another build; undefined: this build alone. */
  readonly other: OtherBuild | undefined;
}

/** What a build achieved. */
export interface CatalogueFigures {
  readonly build: string;
  readonly seeds: number;
  readonly failed: number;
  readonly cpuSeconds: number;
  readonly operationsPerCpuSecond: number;
  readonly seedsPerMinute: number;
  readonly seedsPerCpuMinute: number;
  readonly virtualOverReal: number;
}

interface Contender {
  readonly name: string;
  readonly pool: Pool;
  results: RunResult[];
  cpuUs: number;
  wallMs: number;
}

/** Measures this build, and the other one, alternately: a seed of every scenario each. */
export async function measureCatalogue(options: CatalogueOptions): Promise<readonly CatalogueFigures[]> {
  const { seeds, jobs, other } = options;
  const builds = [
    ['this build', buildDirectory],
    ...(other === undefined ? [] : [[other.name, other.dist]]),
  ] as const;
  const contenders = builds.map(([name = '', build = '']): Contender => {
    return { name, pool: new Pool(build, jobs), results: [], cpuUs: 0, wallMs: 0 };
  });
  const names = await namesKnownTo(other);
  for (let seed = 0; seed <= seeds; seed++) {
    for (const one of contenders) {
      await runSeedOfAll(one, names, seed);
      if (seed === 0) forget(one);
      progress(
        `catalogue, seed ${seed} of ${seeds}, ${one.name}: ${figure(figuresOf(one).seedsPerCpuMinute)} seeds per CPU minute`,
      );
    }
  }
  for (const { pool } of contenders) await pool.close();
  return contenders.map(figuresOf);
}

/** The figures as a table with a column for each build. */
export function catalogueTable(figures: readonly CatalogueFigures[]): string {
  const row = (name: string, of: (one: CatalogueFigures) => number): readonly string[] => [
    name,
    ...figures.map((one) => figure(of(one))),
  ];
  return table([
    ['the catalogue, every invariant judged', ...figures.map(({ build }) => build)],
    row('operations run and checked per CPU second', (one) => one.operationsPerCpuSecond),
    row('seeds per CPU minute', (one) => one.seedsPerCpuMinute),
    row('seeds per minute', (one) => one.seedsPerMinute),
    row('CPU seconds per seed', (one) => one.cpuSeconds / one.seeds),
    row('virtual time / processor time', (one) => one.virtualOverReal),
    row('seeds', (one) => one.seeds),
    row('of which failed', (one) => one.failed),
  ]);
}

/** The scenarios that both builds have. */
async function namesKnownTo(build: OtherBuild | undefined): Promise<readonly string[]> {
  const own = scenarios.map(({ name }) => name);
  if (build === undefined) return own;
  const file = pathToFileURL(join(build.dist, 'scenarios', 'catalogue.js')).href;
  const other = (await import(file)) as { readonly scenarios: readonly { readonly name: string }[] };
  const known = new Set(other.scenarios.map(({ name }) => name));
  return own.filter((name) => known.has(name));
}

/** The first seed of each scenario only warms the threads up. */
function forget(one: Contender): void {
  one.results = [];
  one.cpuUs = 0;
  one.wallMs = 0;
}

async function runSeedOfAll(one: Contender, names: readonly string[], seed: number): Promise<void> {
  const tasks = names.map((scenario): Task => ({ kind: 'seed', scenario, seed, twice: 'eighth' }));
  const startMs = performance.now();
  const startCpu = process.cpuUsage();
  await one.pool.performAll(tasks.values(), (_, answer) => {
    if (answer.kind === 'ran') one.results.push(answer.result);
  });
  const { user, system } = process.cpuUsage(startCpu);
  one.cpuUs += user + system;
  one.wallMs += performance.now() - startMs;
}

function figuresOf({ name, results, cpuUs, wallMs }: Contender): CatalogueFigures {
  const cpuSeconds = cpuUs / 1_000_000;
  const operations = results.reduce((sum, { outcomes }) => {
    return sum + outcomes.ok + outcomes.fail + outcomes.unknown;
  }, 0);
  const virtualSeconds = results.reduce((sum, { virtualUs }) => sum + virtualUs, 0) / 1_000_000;
  return {
    build: name,
    seeds: results.length,
    failed: results.filter(({ verdict }) => verdict === 'failed').length,
    cpuSeconds,
    operationsPerCpuSecond: operations / cpuSeconds,
    seedsPerMinute: results.length / (wallMs / 60_000),
    seedsPerCpuMinute: (results.length / cpuSeconds) * 60,
    virtualOverReal: virtualSeconds / cpuSeconds,
  };
}
