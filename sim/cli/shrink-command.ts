/** `lockstep-sim shrink`: shrinks a failing plan, or further than the time of its `run` allowed. */
import { basename, dirname, join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import { loadOwn } from '../embedding/own-file.ts';
import { withoutRecord } from '../plan/plan.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import type { Failure } from '../runner/result.ts';
import { shrinkableInvariant, shrinkFailure } from '../runner/shrink-failure.ts';
import { FailureFiles } from './failure-files.ts';
import { Interruption } from './interruption.ts';
import { engineWith } from './mutate-build.ts';
import { showShrinking } from './progress.ts';
import { planToReplay } from './replay-command.ts';

/** Options of `shrink`. */
export interface ShrinkCommandOptions {
  readonly seed: number | undefined;
  /** Milliseconds of real time for the search. */
  readonly shrinkMs: number;
  /** Directory for the shrunk plan; undefined: beside the plan file. */
  readonly out: string | undefined;
  readonly keep: string | undefined;
  readonly jobs: number;
  readonly mutant: string | undefined;
  readonly ownFile: string | undefined;
}

/**
 * Shrinks the plan file, or the plan of a scenario's seed, and writes the smallest plan found. Throws `BadRequest` for a
 * plan that breaks no invariant, and what `planToReplay` throws.
 */
export async function shrinkCommand(what: string, options: ShrinkCommandOptions): Promise<Failure> {
  const { seed, mutant, ownFile, jobs, shrinkMs: msMax } = options;
  const own = await loadOwn(ownFile);
  const plan = withoutRecord(await planToReplay(what, seed, own));
  const build = mutant === undefined ? buildDirectory : await engineWith(mutant);
  const pool = new Pool(build, jobs, ownFile);
  const unchanged = mutant === undefined ? undefined : new Pool(buildDirectory, jobs, ownFile);
  const interruption = new Interruption();
  try {
    const answer = await pool.perform({ kind: 'plan', plan });
    const result = answer.kind === 'ran' ? answer.result : undefined;
    const invariant = result === undefined ? undefined : shrinkableInvariant(result);
    if (result?.outOfMemory === true) {
      throw new LockstepError(
        'BadRequest',
        `the run of ${what} runs out of memory: its plan cannot be shrunk`,
      );
    }
    if (result === undefined || invariant === undefined) {
      throw new LockstepError('BadRequest', `${what} breaks no invariant: there is nothing to shrink`);
    }
    const shown = showShrinking(result, msMax);
    const signal = interruption.orAfter(msMax);
    const shrunk = await shrinkFailure(pool, plan, result, invariant, {
      ...{ signal, onProgress: shown.now },
      ...(unchanged === undefined ? {} : { unchanged }),
    }).finally(() => shown.stop());
    const files = new FailureFiles(
      { ...options, stem: stemOf(what, plan, options), pages: false },
      own.invariants,
    );
    return await files.writeFailure(result, plan, shrunk, false);
  } finally {
    interruption.forget();
    await pool.close();
    await unchanged?.close();
  }
}

/** `x.json` and `x.min.json` shrink to `x.min.json`. */
function stemOf(
  what: string,
  plan: { readonly scenario: string; readonly seed: number },
  { out }: ShrinkCommandOptions,
): string {
  const isFile = what.endsWith('.json');
  const name = isFile ? basename(what).replace(/(\.min)?\.json$/, '') : `${plan.scenario}-${plan.seed}`;
  return join(out ?? (isFile ? dirname(what) : '.'), name);
}
