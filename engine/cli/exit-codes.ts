/**
 * Exit codes of the `lockstep` command, and how an error becomes one readable line.
 */
import { ConfigError } from '../config/faults.ts';
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
  return error instanceof ConfigError || error instanceof UsageError ? exitCodes.usage : exitCodes.failed;
}

/** `lockstep: what went wrong`; one line for each fault of a configuration. */
export function describeFailure(error: unknown, painter: Painter): string {
  const message = error instanceof Error ? error.message : String(error);
  const prefix = painter.bad('lockstep:');
  return message
    .split('\n')
    .map((line) => `${prefix} ${line}`)
    .join('\n');
}
