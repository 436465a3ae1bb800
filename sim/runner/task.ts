/**
 * The tasks of a worker thread: run a seed (twice where determinism is checked), run a plan, run crash points, or
 * shrink a failing plan. Tasks and answers are plain data.
 */
import { present } from '../../engine/base/assert.ts';
import { LockstepError } from '../../engine/base/errors.ts';
import { nearestName } from '../../engine/config/faults.ts';
import { findScenario, scenarios } from '../../scenarios/catalogue.ts';
import { checkDeterminism, firstDifference } from '../check/program/determinism.ts';
import type { Invariant } from '../check/user-invariants.ts';
import { mustBeInvariants } from '../check/user-invariants.ts';
import type { ReportedInvariant } from '../check/report.ts';
import { generatePlan } from '../plan/plan-generation.ts';
import type { Plan } from '../plan/plan.ts';
import { shrinkPlan, shrinkRunsMax, withoutFloors } from '../plan/shrink.ts';
import type { Scenario } from '../plan/scenario.ts';
import { judgeOutcome } from './judge-outcome.ts';
import { mustHaveJudges } from './judges.ts';
import type { RunResult, Shrunk } from './result.ts';
import { brokenInvariant } from './result.ts';
import type { Twice } from './twice.ts';
import { isRunTwice } from './twice.ts';
import type { Own } from './user-defined.ts';
import { nothingOwn } from './user-defined.ts';
import type { RunOutcome } from './run-outcome.ts';
import { runPlan } from './run.ts';
import type { CrashPoint, CrashPointResult } from '../explore/crash-points.ts';
import { runCrashPoints } from '../explore/crash-points.ts';

/** A task; it crosses threads. */
export type Task =
  | {
      readonly kind: 'seed';
      readonly scenario: string;
      readonly seed: number;
      /** Which seeds run twice for `determinism`; absent: all. */
      readonly twice?: Twice;
    }
  | { readonly kind: 'plan'; readonly plan: Plan }
  | { readonly kind: 'crashPoints'; readonly points: readonly CrashPoint[] }
  | {
      readonly kind: 'shrink';
      readonly scenario: string;
      readonly seed: number;
      readonly invariant: ReportedInvariant;
      /** Milliseconds of real time after which the smallest plan so far is the answer; undefined for no limit. */
      readonly msMax?: number;
    };

/** The answer to a task of the corresponding kind. */
export type TaskAnswer =
  | { readonly kind: 'ran'; readonly result: RunResult }
  | { readonly kind: 'struck'; readonly result: CrashPointResult }
  | { readonly kind: 'shrunk'; readonly shrunk: Shrunk };

type ShrinkTask = Task & { readonly kind: 'shrink' };

/** Milliseconds of real time, for reports only. */
export type Stopwatch = () => number;

/** Performs a task. `own`: the user's scenarios and invariants. Throws what the run throws. */
export async function performTask(
  task: Task,
  stopwatch: Stopwatch,
  own: Own = nothingOwn,
): Promise<TaskAnswer> {
  switch (task.kind) {
    case 'seed':
      return {
        kind: 'ran',
        result: await judgePlan(
          planOfSeed(task.scenario, task.seed, own),
          stopwatch,
          own.invariants,
          task.twice,
        ),
      };
    case 'plan':
      return { kind: 'ran', result: await judgePlan(task.plan, stopwatch, own.invariants) };
    case 'crashPoints':
      return { kind: 'struck', result: await runCrashPoints(task.points) };
    case 'shrink':
      return { kind: 'shrunk', shrunk: await shrinkSeed(task, stopwatch, own) };
  }
}

/** The plan of a scenario's seed. Throws `NotFound` for an unknown scenario. */
export function planOfSeed(name: string, seed: number, own: Own = nothingOwn): Plan {
  return generatePlan(mustFindScenario(name, own), seed);
}

/** The scenario of that name. Throws `NotFound`, with the nearest name, if there is none. */
export function mustFindScenario(name: string, own: Own = nothingOwn): Scenario {
  const scenario = own.scenarios.find((one) => one.name === name) ?? findScenario(name);
  if (scenario !== undefined) return scenario;
  const nearest = nearestName(
    [...own.scenarios, ...scenarios].map((known) => known.name),
    name,
  );
  const detail = `there is no scenario "${name}"; the nearest is ${nearest ?? 'none'}, lockstep-sim list shows all, plan files end in .json, and --scenarios FILE adds your own`;
  throw new LockstepError('NotFound', detail);
}

/**
 * Runs a plan and judges it by its invariants and the caller's `invariants`; runs it twice if the plan asks for
 * `determinism` and `twice` chooses it: otherwise that invariant has no report. Throws `BadRequest` for a plan that names a user's invariants (`judgedBy`) which `invariants` lacks.
 */
export async function judgePlan(
  plan: Plan,
  stopwatch: Stopwatch,
  invariants: readonly Invariant[] = [],
  twice: Twice = 'all',
): Promise<RunResult> {
  mustBeInvariants(invariants);
  mustHaveJudges(plan, invariants);
  const startMs = stopwatch();
  const outcome = await runPlan(plan);
  const runsTwice = plan.floors.determinism !== undefined && isRunTwice(plan.scenario, plan.seed, twice);
  const determinism = runsTwice ? [await checkTwice(plan, outcome)] : [];
  const judged = { ...outcome, reports: [...outcome.reports, ...determinism] };
  return judgeOutcome(plan, judged, stopwatch() - startMs, invariants);
}

async function checkTwice(plan: Plan, first: RunOutcome): Promise<RunResult['reports'][number]> {
  // The second run has no observers: observing must change nothing, and costs a fifth of a run.
  const second = await runPlan(plan, { unobserved: true });
  if (first.digest === second.digest) return checkDeterminism(first.digest, second.digest);
  const traces = [
    await runPlan(plan, { trace: true }),
    await runPlan(plan, { trace: true, unobserved: true }),
  ] as const;
  return checkDeterminism(first.digest, second.digest, () =>
    firstDifference(traces[0].trace, traces[1].trace),
  );
}

async function shrinkSeed(
  { scenario, seed, invariant, msMax }: ShrinkTask,
  stopwatch: Stopwatch,
  own: Own,
): Promise<Shrunk> {
  const whole = planOfSeed(scenario, seed, own);
  // Shrinking checks the broken invariant alone; a second run of each candidate would prove nothing about it.
  const plan: Plan = { ...whole, floors: onlyFloor(whole.floors, invariant) };
  const ofOwn = own.invariants.filter(({ name }) => name === invariant);
  let last: RunResult | undefined;
  const fails = async (candidate: Plan): Promise<boolean> => {
    const result = await judgePlan(candidate, stopwatch, ofOwn);
    if (brokenInvariant(result)?.invariant !== invariant) return false;
    last = result;
    return true;
  };
  const startMs = stopwatch();
  const isOver = (): boolean => msMax !== undefined && stopwatch() - startMs >= msMax;
  const { plan: small, runs } = await shrinkPlan(plan, shrinkRunsMax, fails, isOver);
  return {
    plan: withoutFloors({ ...small, floors: whole.floors }),
    result: present(last ?? (await judgePlan(plan, stopwatch, ofOwn)), 'a result'),
    runs,
    operations: [whole.operations.length, small.operations.length],
    faults: [whole.faults.length, small.faults.length],
  };
}

/** The floor of this invariant alone, set to 0; none for an invariant of the caller's. */
function onlyFloor(floors: Plan['floors'], invariant: ReportedInvariant): Plan['floors'] {
  return Object.fromEntries(Object.keys(floors).flatMap((id) => (id === invariant ? [[id, 0]] : [])));
}
