/** The files of a failure: its whole plan, its shrunk one, its page, and on request the plan kept with a test. */
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Invariant } from '../check/user-invariants.ts';
import type { Plan } from '../plan/plan.ts';
import { formatPlan } from '../plan/plan.ts';
import { judgedBy } from '../runner/judges.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import type { Failure, RunResult, Shrunk } from '../runner/result.ts';
import { brokenInvariant } from '../runner/broken.ts';
import { keepPlan } from './kept-plan.ts';
import { mutantWord } from './mutate-build.ts';

/** Where the files go, and what the commands that they are for need. */
export interface FileOptions {
  /** Plans and pages are named `<stem>.json`, `<stem>.min.json` and `<stem>.html`. */
  readonly stem: string;
  readonly pages: boolean;
  /** Directory for plans that are kept; undefined: none is. */
  readonly keep: string | undefined;
  readonly mutant: string | undefined;
  readonly ownFile: string | undefined;
}

/** Writes the files of failures. `invariants`: the user's own. */
export class FailureFiles {
  readonly #options: FileOptions;
  readonly #invariants: readonly Invariant[];
  /** Arguments that every command about these failures needs. */
  readonly #added: readonly string[];

  constructor(options: FileOptions, invariants: readonly Invariant[]) {
    this.#options = options;
    this.#invariants = invariants;
    this.#added = [
      ...(options.mutant === undefined ? [] : ['--mutant', mutantWord(options.mutant)]),
      ...(options.ownFile === undefined ? [] : ['--scenarios', options.ownFile]),
    ];
  }

  /** A failure that no plan file shows better: its run compared too little. */
  unshrinkable(result: RunResult): Failure {
    const { scenario, seed } = result;
    return {
      result,
      shrunk: undefined,
      replay: ['replay', scenario, '--seed', String(seed), ...this.#added],
    };
  }

  /** Writes the whole plan, before anything that takes time. */
  async writeWhole(whole: Plan): Promise<void> {
    const { stem, ownFile } = this.#options;
    await write(`${stem}.json`, judgedBy(whole, this.#invariants, ownFile));
  }

  /** Writes the shrunk plan, if there is one; its page if pages are wanted and `hasTime`; keeps it if that is wanted. */
  async writeFailure(
    result: RunResult,
    whole: Plan,
    shrunk: Shrunk | undefined,
    hasTime: boolean,
  ): Promise<Failure> {
    const { stem, pages, ownFile, keep } = this.#options;
    const broken = brokenInvariant(shrunk?.result ?? result)?.invariant;
    const small = shrunk === undefined ? `${stem}.json` : `${stem}.min.json`;
    const judges = this.#invariants.filter(({ name }) => name === broken);
    const plan = judgedBy(shrunk?.plan ?? whole, judges, ownFile);
    if (shrunk !== undefined) await write(small, plan);
    const kept =
      keep === undefined || broken === undefined ? undefined : await keepPlan(plan, broken, keep, ownFile);
    const page = pages && hasTime && shrunk !== undefined ? writePageOf(small, this.#added) : undefined;
    return {
      result,
      shrunk,
      replay: ['replay', small, ...this.#added],
      ...(page === undefined ? {} : { page }),
      ...(kept === undefined ? {} : { kept }),
      ...(shrunk?.minimal === true || result.outOfMemory === true
        ? {}
        : { shrinks: ['shrink', small, ...this.#added] }),
    };
  }
}

async function write(file: string, plan: Plan): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, formatPlan(plan));
}

/** Writes the page in a process of its own, since the engine may have a mutant; undefined if that failed. */
function writePageOf(plan: string, added: readonly string[]): string | undefined {
  const program = join(buildDirectory, 'sim/main.js');
  const { status } = spawnSync(process.execPath, [program, 'report', plan, ...added], { stdio: 'ignore' });
  return status === 0 ? plan.replace(/\.min\.json$/, '.html') : undefined;
}
