/** `lockstep-sim replay` and `digest`: run a seed or a plan file again, with its trace if requested. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';

import { LockstepError } from '../../engine/base/errors.ts';
import type { TraceFilter } from '../../reports/trace.ts';
import { operationEvents, traceLines } from '../../reports/trace.ts';
import { recordRun } from '../record/record-run.ts';
import { historyEdn, historyJsonLines } from '../evidence/export.ts';
import { timeOfLine } from '../check/program/determinism.ts';
import type { Plan } from '../plan/plan.ts';
import { inFile } from '../plan/json-text.ts';
import { parsePlan } from '../plan/plan-validation.ts';
import type { Own } from '../runner/user-defined.ts';
import { nothingOwn } from '../runner/user-defined.ts';
import type { RunResult } from '../runner/result.ts';
import type { Divergence } from '../runner/run-marks.ts';
import { DivergenceWatch } from '../runner/run-marks.ts';
import { runPlan } from '../runner/run.ts';
import { judgePlan, mustFindScenario, planOfSeed } from '../runner/task.ts';
import type { World } from '../world/world.ts';
import { planLimits } from '../plan/plan-limits.ts';
import { readText } from './read-text.ts';

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
  if (/\.\w+$/.test(what) && existsSync(what))
    throw new LockstepError('BadRequest', `${what} is no plan: plan files end in .json`);
  mustFindScenario(what, own);
  if (seed === undefined) throw new LockstepError('BadRequest', `which seed of ${what}? Add --seed S`);
  return planOfSeed(what, seed, own);
}

async function readPlanFile(path: string): Promise<Plan> {
  let text: string;
  try {
    text = await readText(path, { what: 'plan', bytesMax: planLimits.fileBytesMax, code: 'PlanInvalid' });
  } catch (cause) {
    if (cause instanceof LockstepError) throw cause;
    if (!existsSync(path)) throw new LockstepError('NotFound', `there is no plan file ${path}`, { cause });
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new LockstepError('NotFound', `the plan file cannot be read: ${why}`, { cause });
  }
  try {
    return parsePlan(text);
  } catch (error) {
    throw inFile(path, error);
  }
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

/** How much of a run a trace shows: `overview` fits a screen per virtual second, `all` has every event of the world. */
export const traceLevels = ['overview', 'messages', 'all'] as const;
/** One of these. */
export type TraceLevel = (typeof traceLevels)[number];

/** Which trace is wanted. */
export interface TraceAsked {
  readonly level: TraceLevel;
  readonly filter: TraceFilter;
}

/** The trace of a run, line by line, with the operations of its clients. */
export async function traceOf(
  plan: Plan,
  { level, filter }: TraceAsked,
  own: Own = nothingOwn,
): Promise<readonly string[]> {
  const recording = await recordRun(plan, () => performance.now(), own.invariants);
  if (level !== 'all') return traceLines(recording, filter, level);
  const { trace } = await runPlan(plan, { trace: true });
  const events = trace.map((text) => ({ atUs: timeOfLine(text), text }));
  return [...events, ...operationEvents(recording)]
    .filter(({ atUs, text }) => eventPasses(atUs, text, filter))
    .toSorted((left, right) => left.atUs - right.atUs)
    .map(({ text }) => text);
}

/** Every event is a line of text: it passes if it has all that is asked for. */
function eventPasses(atUs: number, text: string, filter: TraceFilter): boolean {
  const { nodes, keys, transactions, events, fromUs, untilUs } = filter;
  const words = text.split(/[^\w.#-]+/);
  const [, , name = ''] = text.split(' ');
  const isOperation = name.startsWith('#') || / is asked$/.test(text);
  return (
    atUs >= fromUs &&
    atUs <= untilUs &&
    (nodes.length === 0 || nodes.some((node) => words.includes(node))) &&
    (keys.length === 0 || keys.some((key) => words.includes(key.slice(key.lastIndexOf('/') + 1)))) &&
    (transactions.length === 0 || transactions.some((id) => text.includes(id))) &&
    (events.length === 0 || events.some((event) => (isOperation ? 'operation' : name).startsWith(event)))
  );
}

/** Writes the history of the transactions' clients, for other checkers; resolves with the number of entries. */
async function writeHistory(plan: Plan, file: string): Promise<number> {
  const { transactions } = await runPlan(plan);
  await writeFile(file, file.endsWith('.edn') ? historyEdn(transactions) : historyJsonLines(transactions));
  return transactions.length;
}

/** SHA-256 of the run's trace, 64 hex digits. */
export async function digestOf(plan: Plan): Promise<string> {
  return (await runPlan(plan)).digest;
}

/** Writes the history. Reports if there was nothing to write, because an empty file would pass for a clean history. */
export async function tellHistory(plan: Plan, file: string): Promise<void> {
  if ((await writeHistory(plan, file)) > 0) return;
  process.stderr.write(
    `This run of ${plan.scenario} has no transactions: the history in ${file} is empty.\n`,
  );
}
