/**
 * Exit codes of the `lockstep` command, and the readable lines that it prints for an error.
 */
import { LockstepError } from '../base/errors.ts';
import type { Painter } from './terminal.ts';

/** The exit codes. */
export const exitCodes = {
  done: 0,
  /** The command was understood and did not succeed. */
  failed: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
  /** The command may have succeeded: its outcome is not known yet. */
  unknown: 3,
} as const;

/** One of the exit codes. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** An error of the command line. The message says what is allowed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** `usage` for an error of the command line or the configuration, `failed` for any other error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError) return exitCodes.usage;
  // `ConfigInvalid` covers the configuration file itself (`ConfigError`) and the files that it names.
  return error instanceof LockstepError && error.code === 'ConfigInvalid'
    ? exitCodes.usage
    : exitCodes.failed;
}

/** The error, with the file or directory that it concerns in front, as the user named it. */
export function named(place: string, error: unknown, hint = ''): Error {
  return new Error(`${place}: ${messageOf(error)}${hint}`, { cause: error });
}

/** The error as `lockstep: …`, with one line for each fault of a configuration. */
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

/**
 * The operating system's error behind this one: ` (EACCES: permission denied, mkdir '/data')`; empty if there is none.
 */
function systemsWord(error: unknown): string {
  for (let cause = causeOf(error); cause instanceof Error; cause = causeOf(cause)) {
    if ('syscall' in cause && !messageOf(error).includes(cause.message)) return ` (${cause.message})`;
  }
  return '';
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}
