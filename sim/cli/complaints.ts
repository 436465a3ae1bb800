/**
 * Converts an error of a command to the exit code and the message of `lockstep-sim`. A mistake of the caller is a usage
 * error, and so is what the machine refuses (such as a file that cannot be written). Anything else is a fault of the
 * simulator, which must never look like a broken invariant.
 */
import { CommanderError } from 'commander';

import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';

/** `fault` is EX_SOFTWARE of sysexits.h. */
export const exitCodes = { passed: 0, failed: 1, usage: 2, unknown: 3, fault: 70 } as const;

/** An exit code with its message. */
export interface Complaint {
  readonly code: number;
  /** Text for stderr; empty if commander has printed it. */
  readonly text: string;
}

/** `words`: the command line, without node and the program. */
export function complaintAbout(error: unknown, words: readonly string[]): Complaint {
  if (error instanceof CommanderError) {
    return { code: error.exitCode === 0 ? exitCodes.passed : exitCodes.usage, text: '' };
  }
  if (error instanceof LockstepError && isUsage(error)) {
    return { code: exitCodes.usage, text: `lockstep-sim: ${error.message} (${error.code})\n` };
  }
  if (error instanceof Error && 'syscall' in error) {
    return { code: exitCodes.usage, text: `lockstep-sim: ${error.message}\n` };
  }
  return { code: exitCodes.fault, text: faultText(error, words) };
}

/** The commands throw these for wrong arguments; other errors of the engine are no usage errors. */
function isUsage({ code }: LockstepError): boolean {
  return code === 'BadRequest' || code === 'NotFound' || code === 'Conflict' || code === 'PlanInvalid';
}

function faultText(error: unknown, words: readonly string[]): string {
  const said = error instanceof Error ? error.message : String(error);
  return [
    `lockstep-sim: ${said}`,
    'This is a fault of the simulator: it says nothing about what Lockstep promises.',
    'Please report it with all that follows, and with the plan file if one was replayed:',
    `  lockstep-sim ${words.join(' ')}`,
    `  lockstep ${version}, Node.js ${process.version}, ${process.platform} ${process.arch}`,
    ...stackOf(error)
      .split('\n')
      .map((line) => `  ${line}`),
    '',
  ].join('\n');
}

/** The stack of the first cause: where the error occurred, not where it was rethrown. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? stackOf(error.cause) : (error.stack ?? error.message);
}
