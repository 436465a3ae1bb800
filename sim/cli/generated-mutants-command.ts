/**
 * `lockstep-sim mutants --generated N`: makes mutants of the built engine, tries each within a share of processor time,
 * and keeps the score. Works in real time, on the machine's files.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import type { GeneratedMutant } from '../mutants/generated.ts';
import { chooseMutants, mutantsOf, mutatedFolders, mutatedText } from '../mutants/generated.ts';
import type { Compiler } from '../mutants/operators.ts';
import { editsOf } from '../mutants/operators.ts';
import type { SurveyedRun } from '../mutants/reach.ts';
import { seedsReaching } from '../mutants/reach.ts';
import type { Score, ScoreEntry } from '../mutants/score.ts';
import { parseScore, percentOf, scoreOf } from '../mutants/score.ts';
import { inFile } from '../plan/json-text.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { WorldRandom } from '../world/core/random.ts';
import type { Trial } from './mutant-trial.ts';
import { Baseline, removeCopy, tryMutant } from './mutant-trial.ts';
import { linkBuild } from './mutate-build.ts';
import { surveyReach } from './reach-survey.ts';
import { campaignBytesMax, readText } from './read-text.ts';

/** What to try. */
export interface GeneratedOptions {
  /** How many mutants are drawn. */
  readonly count: number;
  /** Seed of the draw. */
  readonly seed: number;
  /** Names of mutants, or of operators; empty for all that were drawn. */
  readonly only: readonly string[];
  /** Processor time for each. */
  readonly budgetSeconds: number;
  /** This process tries the mutants whose place in the draw leaves `index` when divided by `count`. */
  readonly shard: { readonly index: number; readonly count: number };
  /** A file that keeps the entries: those in it are not tried again. Undefined: none is kept. */
  readonly file: string | undefined;
  readonly onTried: (entry: ScoreEntry) => void;
  /** A run of the unchanged engine is over that shows which places it executes. */
  readonly onSurveyed: (ran: number, of: number) => void;
}

/** Tries the mutants. Throws `BadRequest` where the compiler is not installed, `NotFound` for an unknown name. */
export async function tryGenerated(options: GeneratedOptions): Promise<Score> {
  const compiler = await compilerOf();
  const all = await allMutants(compiler);
  const drawn = chooseMutants(all, options.count, WorldRandom.root(`mutants/${options.seed}`));
  const known = options.file === undefined ? [] : await entriesIn(options.file);
  const done = new Map(known.map((entry) => [entry.name, entry]));
  const chosen = chosenBy(options, drawn);
  const survey = await surveyReach(buildDirectory, all, options.onSurveyed);
  const baseline = new Baseline(buildDirectory, survey);
  try {
    for (const mutant of chosen) {
      if (done.has(mutant.name)) continue;
      const reachedBy = survey.filter(({ reached }) => reached.includes(mutant.name)).length;
      const trial = await trialOf(mutant, options.budgetSeconds, baseline, survey);
      const entry = entryOf(mutant, trial, reachedBy);
      done.set(mutant.name, entry);
      options.onTried(entry);
      if (options.file !== undefined) await keep(options.file, [...done.values()]);
    }
  } finally {
    await baseline.close();
  }
  return scoreOf([...done.values()]);
}

/**
 * The mutants whose places no run of the survey executes: where no seed goes. `total`: of so many. Throws `BadRequest`
 * where the compiler is not installed.
 */
export async function unreachedMutants(
  onSurveyed: GeneratedOptions['onSurveyed'],
): Promise<{ readonly total: number; readonly unreached: readonly GeneratedMutant[] }> {
  const all = await allMutants(await compilerOf());
  const survey = await surveyReach(buildDirectory, all, onSurveyed);
  const reached = new Set(survey.flatMap((run) => run.reached));
  return { total: all.length, unreached: all.filter(({ name }) => !reached.has(name)) };
}

/** One line for a place that no run executes. */
export function placeText({ file, line, before }: GeneratedMutant): string {
  return `${file}:${line}: ${before}`;
}

function chosenBy(
  { only, shard }: GeneratedOptions,
  drawn: readonly GeneratedMutant[],
): readonly GeneratedMutant[] {
  for (const name of only)
    if (!drawn.some((mutant) => mutant.name === name || mutant.operator === name))
      throw new LockstepError('NotFound', `no mutant or operator "${name}" is among those drawn`);
  return drawn.filter((mutant, place) => {
    const named = only.length === 0 || only.includes(mutant.name) || only.includes(mutant.operator);
    return named && place % shard.count === shard.index;
  });
}

async function compilerOf(): Promise<Compiler> {
  try {
    return (await import('typescript')).default;
  } catch (error) {
    const detail = 'generated mutants need the package typescript, which only development installs';
    throw new LockstepError('BadRequest', detail, { cause: error });
  }
}

/** Every mutant that the operators can make of the build. */
async function allMutants(compiler: Compiler): Promise<readonly GeneratedMutant[]> {
  const all: GeneratedMutant[] = [];
  for (const folder of Object.keys(mutatedFolders)) {
    const names = (await readdir(join(buildDirectory, 'engine', folder), { recursive: true })).sort();
    for (const name of names.filter((one) => one.endsWith('.js'))) {
      const file = join('engine', folder, name);
      const text = await readFile(join(buildDirectory, file), 'utf8');
      all.push(...mutantsOf(folder, file, text, editsOf(compiler, file, text)));
    }
  }
  return all;
}

async function trialOf(
  mutant: GeneratedMutant,
  budgetSeconds: number,
  baseline: Baseline,
  survey: readonly SurveyedRun[],
): Promise<Trial> {
  const copy = join(dirname(join(buildDirectory, '.')), 'dist-mutants', `${mutant.name}.${process.pid}`);
  const text = await readFile(join(buildDirectory, mutant.file), 'utf8');
  await linkBuild(buildDirectory, copy, mutant.file, mutatedText(text, mutant));
  try {
    const seeds = seedsReaching(mutant.name, survey, mutatedFolders[mutant.folder] ?? []);
    return await tryMutant(copy, seeds, budgetSeconds, baseline);
  } finally {
    await removeCopy(copy);
  }
}

function entryOf(
  mutant: GeneratedMutant,
  { notice, runs, changed, cpuSeconds }: Trial,
  reachedBy: number,
): ScoreEntry {
  const { name, operator, folder, file, line, before, after } = mutant;
  const tried = { reachedBy, runs, changed, cpuSeconds: Math.round(cpuSeconds * 10) / 10 };
  return {
    name,
    operator,
    folder,
    file,
    line,
    before,
    after,
    ...tried,
    ...(notice === undefined ? {} : { notice }),
  };
}

async function entriesIn(file: string): Promise<readonly ScoreEntry[]> {
  if (!existsSync(file)) return [];
  try {
    return parseScore(await readText(file, { what: 'score', bytesMax: campaignBytesMax, code: 'BadRequest' }))
      .mutants;
  } catch (error) {
    // Going on would write over what the user named by mistake.
    throw inFile(file, error);
  }
}

/** Writes the score of these entries. */
async function keep(file: string, entries: readonly ScoreEntry[]): Promise<void> {
  const sorted = entries.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  await writeFile(file, `${JSON.stringify(scoreOf(sorted), undefined, 2)}\n`);
}

/** One line for a mutant that was tried. */
export function entryText(entry: ScoreEntry): string {
  const { name, file, line, before, after, notice, runs, changed, cpuSeconds } = entry;
  const what = `${name} ${file}:${line}: ${before} -> ${after}`;
  if (runs === 0) return `SURVIVED ${what} (no run of the survey executes it)`;
  if (notice === undefined)
    return `SURVIVED ${what} (${runs} runs, ${changed ?? 0} of them took another course; ${cpuSeconds} CPU s)`;
  return `noticed  ${what} (${notice.by} in ${notice.scenario}, seed ${notice.seed}; ${runs} runs, ${cpuSeconds} CPU s)`;
}

/** The score as text. */
export function scoreText(score: Score): string {
  const { tried, noticed, equivalent } = score;
  return `${noticed} of ${tried - equivalent} mutants noticed (${percentOf(score)} %), ${equivalent} set aside as equivalent`;
}
