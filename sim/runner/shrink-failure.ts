/**
 * Shrinks the plan of a failing run on the threads of a pool, within a time: the search itself (plan/shrink.ts) stands
 * in this thread, so it can be ended at any moment with the smallest plan so far.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';
import type { CheckReport, ReportedInvariant } from '../check/report.ts';
import type { Plan } from '../plan/plan.ts';
import type { ShrinkProgress } from '../plan/shrink.ts';
import { judgedAlone, shrinkPlan, withoutFloors } from '../plan/shrink.ts';
import { suspectedParts, suspicionIn } from '../plan/suspects.ts';
import type { Pool } from './pool/pool.ts';
import type { RunResult, Shrunk } from './result.ts';
import { brokenInvariant } from './broken.ts';
import { acquaintanceUs } from './run.ts';
import { isSameBreach } from './signature.ts';

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

/** The invariant whose breach shrinking keeps; undefined where there is none: the run compared too little. */
export function shrinkableInvariant(result: RunResult): ReportedInvariant | undefined {
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
  const violationUs = stormTimeOf(first);
  const passesElsewhere = async (candidate: Plan): Promise<boolean> =>
    unchanged === undefined || (await resultIfBroken(unchanged, candidate, invariant)) === undefined;
  // Not waited for: a candidate that fails asks for it.
  const isOfMutant = passesElsewhere(plan);
  const outcome = await shrinkPlan(plan, {
    findsFailure: async (candidate) => {
      const found = await resultIfBroken(pool, candidate, invariant);
      const broken = found && brokenInvariant(found);
      if (broken === undefined || (first !== undefined && !isSameBreach(broken, first))) return undefined;
      return !(await isOfMutant) || (await passesElsewhere(candidate)) ? found : undefined;
    },
    width: pool.workersMax,
    signal,
    suspected: suspectedParts(plan, suspicionIn(first?.firstBad?.text ?? '', plan, violationUs ?? 0)),
    ...(violationUs === undefined ? {} : { violationUs }),
    violationUsOf: (found) => stormTimeOf(brokenInvariant(found)),
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  const small = withoutFloors({ ...outcome.plan, floors: whole.floors });
  return {
    plan: await withRecord(pool, small, invariant),
    result: outcome.found ?? result,
    runs: outcome.runs,
    minimal: outcome.minimal,
    operations: [workOf(whole), workOf(small)],
    faults: [whole.faults.length, small.faults.length],
  };
}

/** When the violation came, in virtual microseconds after the earliest instant at which the storm may begin. */
function stormTimeOf(report: CheckReport | undefined): number | undefined {
  const atUs = report?.firstBad?.atUs;
  return atUs === undefined ? undefined : Math.max(1, atUs - acquaintanceUs);
}

async function resultIfBroken(
  pool: Pool,
  plan: Plan,
  invariant: ReportedInvariant,
): Promise<RunResult | undefined> {
  try {
    const answer = await pool.perform({ kind: 'plan', plan, invariant, uncovered: true });
    if (answer.kind !== 'ran') return undefined;
    return brokenInvariant(answer.result)?.invariant === invariant ? answer.result : undefined;
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
