/**
 * Runs seeds of the unchanged engine on this thread and notes which mutants' places each executes. Works in real time,
 * on the machine's files.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { scenarios } from '../../scenarios/catalogue.ts';
import type { GeneratedMutant } from '../mutants/generated.ts';
import type { SurveyedRun } from '../mutants/reach.ts';
import { isExecuted } from '../mutants/reach.ts';
import type * as tasks from '../runner/task.ts';
import type { Seed } from './mutant-trial.ts';
import { mutatedFolder } from './mutate-build.ts';

/** Seeds of each scenario, and of the swarm, which differ more from each other. */
const storySeeds = 2;
const swarmSeeds = 100;

/** Runs the seeds of the survey, or reads what an earlier command kept of the same build and the same mutants. */
export async function surveyReach(
  build: string,
  mutants: readonly GeneratedMutant[],
  onRun: (ran: number, of: number) => void,
): Promise<readonly SurveyedRun[]> {
  const folder = join(dirname(join(build, '.')), mutatedFolder);
  const file = join(folder, `survey-${await identityOf(build, mutants)}.json`);
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8')) as readonly SurveyedRun[];
  const seeds = surveyedSeeds();
  const runs: SurveyedRun[] = [];
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    // The modules of the build: a bundle's text is not where the mutants are.
    const { performTask } = (await import(
      pathToFileURL(join(build, 'sim', 'runner', 'task.js')).href
    )) as typeof tasks;
    for (const seed of seeds) {
      runs.push(await surveyed(performTask, session, build, mutants, seed));
      onRun(runs.length, seeds.length);
    }
  } finally {
    session.disconnect();
  }
  await keepOnly(folder, file, JSON.stringify(runs));
  return runs;
}

/** Writes the survey, whole or not at all, and removes those of other builds. */
async function keepOnly(folder: string, file: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder))
    if (/^survey-[0-9a-f]+\.json$/.test(name)) await rm(join(folder, name), { force: true });
  // Another process may read it, or this one may be ended.
  await writeFile(`${file}.${process.pid}`, text);
  await rename(`${file}.${process.pid}`, file);
}

function surveyedSeeds(): readonly Seed[] {
  return scenarios.flatMap(({ name: scenario }) =>
    Array.from({ length: scenario === 'swarm' ? swarmSeeds : storySeeds }, (_, index) => ({
      scenario,
      seed: index + 1,
    })),
  );
}

async function surveyed(
  performTask: typeof tasks.performTask,
  session: Session,
  build: string,
  mutants: readonly GeneratedMutant[],
  { scenario, seed }: Seed,
): Promise<SurveyedRun> {
  const start = process.cpuUsage();
  const answer = await performTask({ kind: 'seed', scenario, seed, twice: 'eighth' }, () =>
    performance.now(),
  );
  const { user, system } = process.cpuUsage(start);
  const counts = await session.post('Profiler.takePreciseCoverage');
  const scripts = new Map(counts.result.map((script) => [script.url, script]));
  const reached = mutants.filter(({ file, edit }) => {
    const script = scripts.get(pathToFileURL(join(build, file)).href);
    return script !== undefined && isExecuted(script, edit.from);
  });
  const result = answer.kind === 'ran' ? answer.result : undefined;
  return {
    ...{ scenario, seed, passed: result?.verdict === 'passed', digest: result?.digest ?? '' },
    ...{ cpuSeconds: (user + system) / 1_000_000, reached: reached.map(({ name }) => name) },
  };
}

/** SHA-256, 16 hexadecimal digits, of the mutants' names and of the modules that a run executes. */
async function identityOf(build: string, mutants: readonly GeneratedMutant[]): Promise<string> {
  const sum = createHash('sha256').update(mutants.map(({ name }) => name).join('\n'));
  for (const folder of ['engine', 'sim', 'scenarios']) {
    const names = (await readdir(join(build, folder), { recursive: true })).sort();
    const isOfRuns = (one: string): boolean =>
      one.endsWith('.js') && !one.endsWith('.bundle.js') && !/^(cli|mutants|bench)\//.test(one);
    for (const name of names.filter(isOfRuns))
      sum.update(name).update(await readFile(join(build, folder, name)));
  }
  return sum.digest('hex').slice(0, 16);
}
