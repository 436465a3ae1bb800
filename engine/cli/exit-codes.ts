/**
 * Exit codes of the `lockstep` command, and how an error becomes one readable line.
 */
import { LockstepError } from '../base/errors.ts';
import type { Painter } from './terminal.ts';

export const exitCodes = {
  done: 0,
  /** The command was understood and did not succeed. */
  failed: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The command was called in a way that cannot work; its message says what is allowed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError) return exitCodes.usage;
  // Of the file itself (`ConfigError`), or of a file that it names.
  return error instanceof LockstepError && error.code === 'ConfigInvalid'
    ? exitCodes.usage
    : exitCodes.failed;
}

/** The error with the file or directory that it is about in front, as the person named it. */
export function named(place: string, error: unknown, hint = ''): Error {
  return new Error(`${place}: ${messageOf(error)}${hint}`, { cause: error });
}

/** `lockstep: what went wrong`; one line for each fault of a configuration. */
export function describeFailure(error: unknown, painter: Painter): string {
  const message = messageOf(error) + systemsWord(error);
  const prefix = painter.bad('lockstep:');
  return message
    .split('\n')
    .map((line) => `${prefix} ${line}`)
    .join('\n');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What the operating system said, where that is why: ` (EACCES: permission denied, mkdir '/data')`. */
function systemsWord(error: unknown): string {
  for (let cause = causeOf(error); cause instanceof Error; cause = causeOf(cause)) {
    if ('syscall' in cause && !messageOf(error).includes(cause.message)) return ` (${cause.message})`;
  }
  return '';
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}
