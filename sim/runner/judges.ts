/**
 * Records in a plan which of the user's invariants judged its run: a replay without them would pass whatever they had
 * found.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import type { Invariant } from '../check/user-invariants.ts';
import type { Plan } from '../plan/plan.ts';

/** The plan with the names of the user's invariants that judged it, and the module that exports them, if known. */
export function judgedBy(plan: Plan, invariants: readonly Invariant[], file: string | undefined): Plan {
  if (invariants.length === 0) return plan;
  const names = invariants.map(({ name }) => name);
  return { ...plan, judgedBy: { ...(file === undefined ? {} : { file }), invariants: names } };
}

/**
 * Throws `BadRequest`, naming the file and what to add, unless all of the user's invariants that judged the plan are
 * given.
 */
export function mustHaveJudges(plan: Plan, invariants: readonly Invariant[]): void {
  const { file = 'FILE', invariants: needed } = plan.judgedBy ?? { invariants: [] };
  const given = new Set<string>(invariants.map(({ name }) => name));
  const missing = needed.filter((name) => !given.has(name));
  if (missing.length === 0) return;
  const which = missing.length === 1 ? 'an invariant' : 'invariants';
  const whose = file === 'FILE' ? 'a module of yours' : file;
  throw new LockstepError(
    'BadRequest',
    `this plan of ${plan.scenario} was judged by ${missing.join(', ')}, ${which} of ${whose}: add --scenarios ${file} (in a test: the option "invariants")`,
  );
}
