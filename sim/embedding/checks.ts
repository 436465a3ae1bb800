/**
 * The simulator for other projects' tests: plans of built-in or own scenarios, runs of them, and checks that throw if a
 * run does not pass. Works in real time: it writes a failure's plan to a file for its replay.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type fc from 'fast-check';

import { LockstepError } from '../../engine/base/errors.ts';
import { findScenario, scenarios } from '../../scenarios/catalogue.ts';
import type { Invariant } from '../check/user-invariants.ts';
import type { Plan } from '../plan/plan.ts';
import { formatPlan } from '../plan/plan.ts';
import { generatePlan } from '../plan/plan-generation.ts';
import { plansOf } from '../plan/plans.ts';
import type { RunResult } from '../runner/result.ts';
import { judgedBy } from '../runner/judges.ts';
import { judgePlan, mustFindScenario } from '../runner/task.ts';
import type { Scenario } from '../plan/scenario.ts';
import { mustBeScenario } from '../plan/scenario-validation.ts';
import { SimulationFailed } from './simulation-failed.ts';

/** Options of a run. */
export interface RunOptions {
  /** Your own invariants, judged beside those that the plan asks for. */
  readonly invariants?: readonly Invariant[];
}

/** Options of a check that throws. */
export interface CheckOptions extends RunOptions {
  /** Directory for the plan of a failure that has no seed (a shrunk one). Default: `lockstep-sim-out`. */
  readonly out?: string;
  /** The module that exports your scenarios and invariants, for `--scenarios` in the replay line. */
  readonly file?: string;
}

/** Options of `checkSeeds`. */
export interface SeedOptions extends CheckOptions {
  /** Number of seeds. Default: 10. */
  readonly seeds?: number;
  /** The first seed. Default: 1. */
  readonly firstSeed?: number;
}

/** Options of `plans`. */
export interface PlansOptions {
  /** Most smaller plans to try when one fails. Default: 300, as on the command line. */
  readonly shrinkRuns?: number;
}

/** The built-in scenario of that name, as a base for your own. Throws `NotFound` with the nearest name. */
export function scenarioNamed(name: string): Scenario {
  return mustFindScenario(name);
}

/** The plan that `lockstep-sim replay NAME --seed S` runs. Throws `NotFound`, `PlanInvalid`. */
export function planOfSeed(scenario: string | Scenario, seed: number): Plan {
  return generatePlan(scenarioOf(scenario), mustBeSeed(seed));
}

function mustBeSeed(seed: number): number {
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new LockstepError('BadRequest', `a seed is a whole number 0..2^53-1, not ${seed}`);
}

/**
 * A fast-check arbitrary of the scenario's plans. A failing plan shrinks as on the command line, to fewer faults, less
 * work and a shorter storm, and is printed in the form of its file. Throws `NotFound`, `PlanInvalid`.
 */
export function plans(scenario: string | Scenario, options: PlansOptions = {}): fc.Arbitrary<Plan> {
  return plansOf(scenarioOf(scenario), options.shrinkRuns);
}

/**
 * Runs a plan and judges it; the promise resolves whatever the verdict. Runs are serialized: a call waits for the run
 * in progress. Rejects with `PlanInvalid` if the settings are no configuration, with `BadRequest` if one of your
 * invariants throws or returns something, with `SimulatorFault` if the simulator itself fails.
 */
export function runPlan(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
  return inTurn(() => judgePlan(plan, () => performance.now(), options.invariants));
}

/** Runs a plan. Rejects with `SimulationFailed` unless it passes. */
export async function checkPlan(plan: Plan, options: CheckOptions = {}): Promise<RunResult> {
  const result = await runPlan(plan, options);
  if (result.verdict === 'passed') return result;
  throw failureOf(plan, result, isOfItsSeed(plan), options);
}

/** Runs seeds of a scenario, one after the other. Rejects with `SimulationFailed` at the first that does not pass. */
export async function checkSeeds(
  scenario: string | Scenario,
  options: SeedOptions = {},
): Promise<readonly RunResult[]> {
  const chosen = scenarioOf(scenario);
  const { seeds = 10, firstSeed = 1 } = options;
  if (!Number.isSafeInteger(seeds) || seeds < 1)
    throw new LockstepError(
      'BadRequest',
      `seeds is how many are run, a whole number of at least 1, not ${seeds}`,
    );
  const results: RunResult[] = [];
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const plan = generatePlan(chosen, mustBeSeed(seed));
    const result = await runPlan(plan, options);
    if (result.verdict !== 'passed') throw failureOf(plan, result, true, options);
    results.push(result);
  }
  return results;
}

function scenarioOf(given: string | Scenario): Scenario {
  if (typeof given === 'string') return mustFindScenario(given);
  if (scenarios.includes(given)) return given;
  return mustBeScenario(
    given,
    scenarios.map(({ name }) => name),
  );
}

/** The error with the command that replays it: by its seed, or by its plan file, which this function writes. */
function failureOf(
  plan: Plan,
  result: RunResult,
  ofItsSeed: boolean,
  options: CheckOptions,
): SimulationFailed {
  const { invariants = [], out = 'lockstep-sim-out', file = 'FILE' } = options;
  const own = invariants.length > 0 || findScenario(plan.scenario) === undefined;
  const notes =
    own && options.file === undefined
      ? ['FILE: your module that exports these scenarios and invariants (the option "file" names it here)']
      : [];
  const added = own ? ['--scenarios', file] : [];
  if (ofItsSeed) {
    return new SimulationFailed(
      plan,
      result,
      ['replay', plan.scenario, '--seed', String(plan.seed), ...added],
      notes,
    );
  }
  const path = join(out, `${plan.scenario}-${plan.seed}.min.json`);
  return new SimulationFailed(
    plan,
    result,
    ['replay', path, ...added],
    [...notes, ...keep(judgedBy(plan, invariants, options.file), path)],
  );
}

/** Writes the plan. If that fails, returns the reason as a note, because the violation matters more. */
function keep(plan: Plan, path: string): readonly string[] {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, formatPlan(plan));
    return [];
  } catch (error) {
    return [`the plan could not be written: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function isOfItsSeed(plan: Plan): boolean {
  const scenario = findScenario(plan.scenario);
  return scenario !== undefined && formatPlan(generatePlan(scenario, plan.seed)) === formatPlan(plan);
}

/**
 * The last requested run. Concurrent runs would receive each other's failures, because the process has one handler for
 * each kind.
 */
const turns: { last: Promise<unknown> } = { last: Promise.resolve() };

function inTurn<T>(run: () => Promise<T>): Promise<T> {
  const turn = turns.last.then(run);
  turns.last = turn.catch(() => undefined);
  return turn;
}
