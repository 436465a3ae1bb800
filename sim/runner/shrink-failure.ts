/**
 * Shrinks the plan of a failing run on the threads of a pool, within a time: the search itself (plan/shrink.ts) stands
 * in this thread, so it can be ended at any moment with the smallest plan so far.
 */
import { Deferred } from '../../engine/base/deferred.ts';
import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';
import type { ReportedInvariant } from '../check/report.ts';
import type { Plan } from '../plan/plan.ts';
import type { BusyTimes } from '../plan/busy.ts';
import type { RunTimes, ShrinkProgress } from '../plan/shrink.ts';
import { judgedAlone, shrinkPlan, withoutFloors } from '../plan/shrink.ts';
import { suspectedParts, suspicionIn } from '../plan/suspects.ts';
import type { Pool } from './pool/pool.ts';
import type { RunResult, Shrunk } from './result.ts';
import { brokenInvariant } from './broken.ts';
import { acquaintanceUs } from './run.ts';
import { isSameBreach } from './signature.ts';
import type { JudgedRun } from './task.ts';

/** How to shrink a failure. */
export interface ShrinkLimits {
  /** Ends the search at once, as when its time is up. */
  readonly signal: AbortSignal;
  /**
   * Where the pool's engine holds a mutant or a patch: threads of the unchanged one. If the whole plan passes there, so
   * must every smaller one, whose failure is otherwise not the mutant's.
   */
  readonly unchanged?: Pool;
  readonly onProgress?: (progress: ShrinkProgress) => void;
}

/**
 * The invariant whose breach shrinking keeps; undefined where there is none: the run compared too little, or ran out of
 * memory, which every smaller plan that did so too would take as long to do.
 */
export function shrinkableInvariant(result: RunResult): ReportedInvariant | undefined {
  if (result.outOfMemory === true) return undefined;
  const broken = brokenInvariant(result);
  return broken === undefined || broken.vacuous ? undefined : broken.invariant;
}

/**
 * The smallest plan found that breaks the invariant in the way in which the run of `whole` did. Takes one run more, to record what the
 * smallest plan's run is.
 */
export async function shrinkFailure(
  pool: Pool,
  whole: Plan,
  result: RunResult,
  invariant: ReportedInvariant,
  { signal, unchanged, onProgress }: ShrinkLimits,
): Promise<Shrunk> {
  // Shrinking checks the broken invariant alone; a second run of each candidate would prove nothing about it.
  const plan = judgedAlone(whole, invariant);
  const first = result.reports.find((report) => report.invariant === invariant);
  const passesElsewhere = async (candidate: Plan): Promise<boolean> =>
    unchanged === undefined || (await runIfBroken(unchanged, candidate, invariant)) === undefined;
  // Not waited for: a candidate that fails asks for it.
  const isOfMutant = passesElsewhere(plan);
  const findsFailure = async (candidate: Plan): Promise<JudgedRun | undefined> => {
    const found = await runIfBroken(pool, candidate, invariant);
    const broken = found && brokenInvariant(found.result);
    if (broken === undefined || (first !== undefined && !isSameBreach(broken, first))) return undefined;
    return !(await isOfMutant) || (await passesElsewhere(candidate)) ? found : undefined;
  };
  const whereFirst = await Promise.race([aborted(signal), runIfBroken(pool, plan, invariant)]);
  const times = whereFirst === undefined ? timesIn(result) : timesIn(whereFirst.result, whereFirst.busy);
  const outcome = await shrinkPlan(plan, {
    findsFailure,
    width: pool.workersMax,
    signal,
    suspected: suspectedParts(plan, suspicionIn(first?.firstBad?.text ?? '', plan), times),
    times,
    timesOf: ({ result: found, busy }) => timesIn(found, busy),
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  const small = withoutFloors({ ...outcome.plan, floors: whole.floors });
  return {
    plan: await withRecord(pool, small, invariant),
    result: outcome.found?.result ?? result,
    runs: outcome.runs,
    minimal: outcome.minimal,
    operations: [workOf(whole), workOf(small)],
    faults: [whole.faults.length, small.faults.length],
  };
}

/** Resolves to undefined when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<undefined> {
  const over = new Deferred<undefined>();
  if (signal.aborted) over.resolve(undefined);
  else signal.addEventListener('abort', () => over.resolve(undefined), { once: true });
  return over.promise;
}

/** The violation counts from the earliest instant at which the storm may begin. */
function timesIn(result: RunResult, busy?: BusyTimes): RunTimes {
  const atUs = brokenInvariant(result)?.firstBad?.atUs;
  return {
    ...(atUs === undefined ? {} : { violationUs: Math.max(1, atUs - acquaintanceUs) }),
    ...(busy === undefined ? {} : { busy }),
  };
}

async function runIfBroken(
  pool: Pool,
  plan: Plan,
  invariant: ReportedInvariant,
): Promise<JudgedRun | undefined> {
  try {
    const answer = await pool.perform({ kind: 'plan', plan, invariant, uncovered: true, timed: true });
    if (answer.kind !== 'ran') return undefined;
    return brokenInvariant(answer.result)?.invariant === invariant ? answer : undefined;
  } catch (error) {
    // Without some of its settings a plan may be no configuration: it is no smaller failure.
    if (error instanceof LockstepError && error.code === 'PlanInvalid') return undefined;
    throw error;
  }
}

/** The plan with the marks of its run, by which a replay recognizes it. */
async function withRecord(pool: Pool, plan: Plan, broke: ReportedInvariant): Promise<Plan> {
  const answer = await pool.perform({ kind: 'record', plan });
  return answer.kind === 'recorded' ? { ...plan, recorded: { version, ...answer.marks, broke } } : plan;
}

function workOf({ operations, transactions, redisOperations = [], jobs = [] }: Plan): number {
  return operations.length + transactions.length + redisOperations.length + jobs.length;
}
