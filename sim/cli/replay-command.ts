/** `lockstep-sim replay` and `digest`: run a seed or a plan file again, with its trace if requested. */
import { readFile, writeFile } from 'node:fs/promises';

import { LockstepError } from '../../engine/base/errors.ts';
import { historyEdn, historyJsonLines } from '../evidence/export.ts';
import { timeOfLine } from '../check/program/determinism.ts';
import type { Plan } from '../plan/plan.ts';
import { parsePlan } from '../plan/plan-validation.ts';
import type { Own } from '../runner/user-defined.ts';
import { nothingOwn } from '../runner/user-defined.ts';
import type { RunResult } from '../runner/result.ts';
import type { Divergence } from '../runner/run-marks.ts';
import { DivergenceWatch } from '../runner/run-marks.ts';
import { runPlan } from '../runner/run.ts';
import { judgePlan, mustFindScenario, planOfSeed } from '../runner/task.ts';
import type { World } from '../world/world.ts';

/**
 * The plan of a scenario's seed, or of a file (a name that ends in `.json`). A plan file is complete, and its
 * scenario's name is only a label, so the scenario need not be known. Throws `BadRequest`, `NotFound`, `PlanInvalid`.
 */
export async function planToReplay(
  what: string,
  seed: number | undefined,
  own: Own = nothingOwn,
): Promise<Plan> {
  if (what.endsWith('.json')) {
    if (seed !== undefined)
      throw new LockstepError('BadRequest', 'a plan file has its own seed; leave --seed out');
    return readPlanFile(what);
  }
  mustFindScenario(what, own);
  if (seed === undefined) throw new LockstepError('BadRequest', `which seed of ${what}? Add --seed S`);
  return planOfSeed(what, seed, own);
}

async function readPlanFile(path: string): Promise<Plan> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new LockstepError('NotFound', `the plan file cannot be read: ${why}`, { cause });
  }
  return parsePlan(text);
}

/** A run again. */
export interface Replay {
  readonly result: RunResult;
  /** Where the run differs from the one that the plan records; undefined: nowhere, or the plan records none. */
  readonly divergence: Divergence | undefined;
}

/** Runs the plan and judges it, by the user's invariants too. */
export async function replayPlan(plan: Plan, own: Own): Promise<Replay> {
  const watch = plan.recorded === undefined ? undefined : new DivergenceWatch(plan.recorded);
  const attach = watch === undefined ? undefined : (world: World): void => watch.attach(world);
  const result = await judgePlan(plan, () => performance.now(), own.invariants, 'all', attach);
  return { result, divergence: watch?.divergence };
}

/** The trace of a run, line by line: every event up to `untilUs` of virtual time. */
export async function traceOf(plan: Plan, untilUs: number): Promise<readonly string[]> {
  const { trace } = await runPlan(plan, { trace: true });
  return trace.filter((line) => timeOfLine(line) <= untilUs);
}

/** Writes the history of the transactions' clients, for other checkers; resolves with the number of entries. */
export async function writeHistory(plan: Plan, file: string): Promise<number> {
  const { transactions } = await runPlan(plan);
  await writeFile(file, file.endsWith('.edn') ? historyEdn(transactions) : historyJsonLines(transactions));
  return transactions.length;
}

/** SHA-256 of the run's trace, 64 hex digits. */
export async function digestOf(plan: Plan): Promise<string> {
  return (await runPlan(plan)).digest;
}
