/**
 * The corpus of `run --guided` as files: `corpus.json` (what is known beside the plans) and a plan file for each kept
 * plan, which `replay` takes.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';
import type { CorpusState, KeptPlan } from '../guide/corpus.ts';
import type { ExplorerState } from '../guide/explorer.ts';
import { inFile, jsonOf } from '../plan/json-text.ts';
import { formatPlan } from '../plan/plan.ts';
import { parsePlan } from '../plan/plan-validation.ts';
import { campaignBytesMax, readText } from './read-text.ts';

/** A guided exploration as its files hold it. */
export interface SavedExploration {
  readonly corpus: CorpusState;
  readonly explorer: ExplorerState;
}

/** Version of the form of `corpus.json`. */
const corpusFormat = 1;
const indexName = 'corpus.json';

interface Index {
  readonly format: number;
  /** Lockstep's version, and the first seed: both decide what a seed and a variant are. */
  readonly version: string;
  readonly firstSeed: number;
  readonly explorer: ExplorerState;
  readonly coverage: CorpusState['coverage'];
  readonly kept: readonly Omit<KeptPlan, 'plan'>[];
}

/** Reads an exploration; undefined if there is none. Throws `BadRequest` for one of another version or first seed. */
export async function readCorpus(
  directory: string,
  firstSeed: number,
): Promise<SavedExploration | undefined> {
  const file = join(directory, indexName);
  if (!existsSync(file)) return undefined;
  const text = await readText(file, { what: 'corpus', bytesMax: campaignBytesMax, code: 'BadRequest' });
  const found = indexOf(text, file);
  if (found.format !== corpusFormat || found.version !== version || found.firstSeed !== firstSeed) {
    const detail = `the corpus in ${directory} is of Lockstep ${found.version} and --first-seed ${found.firstSeed}: name another --out, or remove it`;
    throw new LockstepError('BadRequest', detail);
  }
  const kept = await Promise.all(
    found.kept.map(async (one) => ({ ...one, plan: await planIn(directory, one.name) })),
  );
  return { corpus: { kept, coverage: found.coverage }, explorer: found.explorer };
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** The index in the text; its parts are of the writer's making once its version is known. */
function indexOf(text: string, file: string): Index {
  let found: unknown;
  try {
    found = jsonOf(text, 'corpus', 'BadRequest');
  } catch (error) {
    throw inFile(file, error);
  }
  const index = (found ?? {}) as Partial<Index>;
  const isWhole =
    typeof index === 'object' &&
    typeof index.version === 'string' &&
    typeof index.firstSeed === 'number' &&
    Array.isArray(index.kept) &&
    isObject(index.coverage) &&
    isObject(index.explorer);
  if (isWhole) return index as Index;
  throw new LockstepError(
    'BadRequest',
    `${file} is no corpus of format ${corpusFormat}: name another --out, or remove it`,
  );
}

async function planIn(directory: string, name: string): Promise<KeptPlan['plan']> {
  return parsePlan(await readFile(join(directory, `${name}.json`), 'utf8'));
}

/** Writes an exploration: new plans, then the index, which replaces the former one at once; then removes dropped plans. */
export async function writeCorpus(
  directory: string,
  firstSeed: number,
  { corpus, explorer }: SavedExploration,
): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const { name, plan } of corpus.kept) {
    const file = join(directory, `${name}.json`);
    if (!existsSync(file)) await writeFile(file, formatPlan(plan));
  }
  const kept = corpus.kept.map(({ plan: _, ...rest }) => rest);
  const index: Index = {
    ...{ format: corpusFormat, version, firstSeed, explorer },
    ...{ coverage: corpus.coverage, kept },
  };
  const file = join(directory, indexName);
  await writeFile(`${file}.new`, `${JSON.stringify(index)}\n`);
  await rename(`${file}.new`, file);
  const names = new Set([indexName, ...kept.map(({ name }) => `${name}.json`)]);
  for (const name of await readdir(directory)) if (!names.has(name)) await rm(join(directory, name));
}
