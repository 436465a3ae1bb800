/**
 * The error of the simulator itself: an exception in its own code. Such a run proves nothing about any invariant and
 * has no verdict.
 */
import { LockstepError } from '../../engine/base/errors.ts';

/** A failure of the simulator; its cause is the exception. */
export class SimulatorFault extends Error {
  override readonly name = 'SimulatorFault';

  /** `where`: the run, or the task in progress: `crash-and-restart, seed 7`. */
  constructor(where: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`the simulator itself failed at ${where}: ${why}`, { cause });
  }
}

/** The error for a run that threw: `PlanInvalid` blames the plan, everything else the simulator. */
export function blameFor(
  { scenario, seed }: { readonly scenario: string; readonly seed: number },
  error: unknown,
): LockstepError | SimulatorFault {
  if (error instanceof LockstepError && error.code === 'PlanInvalid') return error;
  return new SimulatorFault(`${scenario}, seed ${seed}`, error);
}
