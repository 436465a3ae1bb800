/**
 * The tasks of a worker thread: run a seed (twice where determinism is checked), run or record a plan, or run crash
 * points or durable steps. Tasks and answers are plain data.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { nearestName } from '../../engine/config/faults.ts';
import { findScenario, scenarios } from '../../scenarios/catalogue.ts';
import { checkDeterminism, firstDifference } from '../check/program/determinism.ts';
import type { Invariant } from '../check/user-invariants.ts';
import { mustBeInvariants } from '../check/user-invariants.ts';
import type { ReportedInvariant } from '../check/report.ts';
import type { Begun, BusyTimes } from '../plan/busy.ts';
import { busyTimesOf } from '../plan/busy.ts';
import { generatePlan } from '../plan/plan-generation.ts';
import type { Plan } from '../plan/plan.ts';
import type { Scenario } from '../plan/scenario.ts';
import { judgeOutcome } from './judge-outcome.ts';
import { mustHaveJudges } from './judges.ts';
import type { RunResult } from './result.ts';
import type { Marks } from './run-marks.ts';
import { marksOf } from './run-marks.ts';
import type { Twice } from './twice.ts';
import { isRunTwice } from './twice.ts';
import type { Own } from './user-defined.ts';
import { nothingOwn } from './user-defined.ts';
import type { RunOutcome, RunSettings } from './run-outcome.ts';
import { runPlan } from './run.ts';
import type { CrashPoint, CrashPointResult } from '../explore/crash-points.ts';
import { runCrashPoints } from '../explore/crash-points.ts';
import type { StepRun, SubjectPoint } from '../explore/durable-steps.ts';
import { runDurableStep } from '../explore/durable-steps.ts';

/** A task; it crosses threads. */
export type Task =
  | {
      readonly kind: 'seed';
      readonly scenario: string;
      readonly seed: number;
      /** Which seeds run twice for `determinism`; absent: all. */
      readonly twice?: Twice;
    }
  | {
      readonly kind: 'plan';
      readonly plan: Plan;
      /** Of the user's invariants, this one alone judges; absent: all do. */
      readonly invariant?: ReportedInvariant;
      /** As for a seed; the plan's own seed decides. */
      readonly twice?: Twice;
      /** The cells of coverage that the run reaches are not wanted. */
      readonly uncovered?: true;
      /** How long clients were busy with what they did is wanted of a run that fails. */
      readonly timed?: true;
    }
  | { readonly kind: 'record'; readonly plan: Plan }
  | { readonly kind: 'crashPoints'; readonly points: readonly CrashPoint[] }
  | { readonly kind: 'durableStep'; readonly at: SubjectPoint };

/** The result of a run, and the ids of the cells of coverage that it reached, sorted. */
export interface JudgedRun {
  readonly result: RunResult;
  readonly reached: readonly string[];
  /** Of a run that failed, where it was asked for. */
  readonly busy?: BusyTimes;
}

/** The answer to a task of the corresponding kind. */
export type TaskAnswer =
  | ({ readonly kind: 'ran' } & JudgedRun)
  | { readonly kind: 'struck'; readonly result: CrashPointResult }
  | { readonly kind: 'stepStruck'; readonly result: StepRun }
  | { readonly kind: 'recorded'; readonly marks: Marks };

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
        ...(await judgeRun(planOfSeed(task.scenario, task.seed, own), stopwatch, own.invariants, task.twice)),
      };
    case 'plan':
      return {
        kind: 'ran',
        ...(await judgeRun(task.plan, stopwatch, judgesOf(task, own), task.twice, task)),
      };
    case 'record':
      return { kind: 'recorded', marks: await marksOf(task.plan) };
    case 'crashPoints':
      return { kind: 'struck', result: await runCrashPoints(task.points) };
    case 'durableStep':
      return { kind: 'stepStruck', result: await runDurableStep(task.at) };
  }
}

function judgesOf({ invariant }: Task & { readonly kind: 'plan' }, { invariants }: Own): Own['invariants'] {
  return invariant === undefined ? invariants : invariants.filter(({ name }) => name === invariant);
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
 * `determinism` and `twice` chooses it: otherwise that invariant has no report. `attach` looks at the first run. Throws
 * `BadRequest` for a plan that names a user's invariants (`judgedBy`) which `invariants` lacks.
 */
export async function judgePlan(
  plan: Plan,
  stopwatch: Stopwatch,
  invariants: readonly Invariant[] = [],
  twice: Twice = 'all',
  attach?: RunSettings['attach'],
): Promise<RunResult> {
  return (await judgeRun(plan, stopwatch, invariants, twice, attach === undefined ? {} : { attach })).result;
}

type JudgeSettings = Pick<RunSettings, 'attach' | 'uncovered'> & { readonly timed?: true };

/** As `judgePlan`, with the cells of coverage that the run reached, and how long clients were busy if it is `timed`. */
export async function judgeRun(
  plan: Plan,
  stopwatch: Stopwatch,
  invariants: readonly Invariant[] = [],
  twice: Twice = 'all',
  { attach, uncovered, timed }: JudgeSettings = {},
): Promise<JudgedRun> {
  mustBeInvariants(invariants);
  mustHaveJudges(plan, invariants);
  const startMs = stopwatch();
  const outcome = await runPlan(plan, {
    ...(attach === undefined ? {} : { attach }),
    ...(uncovered === undefined ? {} : { uncovered }),
  });
  const runsTwice = plan.floors.determinism !== undefined && isRunTwice(plan.scenario, plan.seed, twice);
  const determinism = runsTwice ? [await checkTwice(plan, outcome)] : [];
  const judged = { ...outcome, reports: [...outcome.reports, ...determinism] };
  const result = judgeOutcome(plan, judged, stopwatch() - startMs, invariants);
  const busy =
    timed === true && result.verdict === 'failed' ? { busy: busyTimesOf(plan, begunIn(outcome)) } : {};
  return { result, reached: outcome.reached, ...busy };
}

function begunIn({ history, transactions, redis, jobs }: RunOutcome): readonly Begun[] {
  return [...history, ...transactions, ...redis, ...jobs];
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
