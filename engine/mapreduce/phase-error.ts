/** Why a phase failed, and where: the same input fails anywhere, so no other replica is asked. */
import type { ErrorCode } from '../base/errors.ts';
import { LockstepError } from '../base/errors.ts';
import type { Json } from './job.ts';

/** A function could not do its work. Its place is added by whoever ran it. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError';
}

/** A job's end by one of its phases. */
export class PhaseError extends LockstepError {
  /** From 0. */
  readonly phase: number;
  /** What the phase was working on; undefined: nothing particular. */
  readonly input: Json | undefined;

  constructor(code: ErrorCode, phase: number, detail: string, input?: Json) {
    super(code, detail);
    this.phase = phase;
    this.input = input;
  }
}
