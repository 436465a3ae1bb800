/** Errors of a phase's function. The same input fails at every replica, so the coordinator asks no other one. */
import type { ErrorCode } from '../base/errors.ts';
import { LockstepError } from '../base/errors.ts';
import type { Json } from './job.ts';

/** Thrown by a function that cannot process its input. The code that runs the phase adds the phase and the input. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError';
}

/** Ends a job because one of its phases failed. */
export class PhaseError extends LockstepError {
  /** Index of the phase, from 0. */
  readonly phase: number;
  /** The input that the phase was processing; undefined if it was no single one. */
  readonly input: Json | undefined;

  constructor(code: ErrorCode, phase: number, detail: string, input?: Json) {
    super(code, detail);
    this.phase = phase;
    this.input = input;
  }
}
