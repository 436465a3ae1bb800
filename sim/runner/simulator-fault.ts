/**
 * The simulator itself failed: an exception in its own code, where nothing may be thrown. Such a run says nothing about
 * any promise, and is no verdict.
 */
import { LockstepError } from '../../engine/base/errors.ts';

export class SimulatorFault extends Error {
  override readonly name = 'SimulatorFault';

  /** `where`: the run, or what else was being done: `crash-and-restart, seed 7`. */
  constructor(where: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`the simulator itself failed at ${where}: ${why}`, { cause });
  }
}

/** What a run that threw reports: `PlanInvalid` is the plan's fault, everything else the simulator's. */
export function blameFor(
  { scenario, seed }: { readonly scenario: string; readonly seed: number },
  error: unknown,
): LockstepError | SimulatorFault {
  if (error instanceof LockstepError && error.code === 'PlanInvalid') return error;
  return new SimulatorFault(`${scenario}, seed ${seed}`, error);
}
