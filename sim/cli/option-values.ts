/** Values of options, and what all commands share. */
import { availableParallelism } from 'node:os';

import { InvalidArgumentError } from 'commander';

import { parseDurationMs } from '../../engine/base/durations.ts';

/** Where a command's results go. */
export interface Output {
  /** Text for stdout. */
  readonly print: (text: string) => void;
  readonly setExitCode: (code: number) => void;
}

/** More threads than processors make a machine slower, and each takes its memory. */
export const jobsMax = Math.max(16, 4 * availableParallelism());
/** What the help says of `--jobs`. */
export const jobsHelp = `worker threads at once, at most ${jobsMax} here; no more are started than there are runs`;

/** `0/4`: the first of four parts. Throws `InvalidArgumentError`. */
export function shardOf(text: string): { readonly index: number; readonly count: number } {
  const [, index, count] = /^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? [];
  if (index !== undefined && count !== undefined && Number(index) < Number(count))
    return { index: Number(index), count: Number(count) };
  throw new InvalidArgumentError('A part I/N is expected, I from 0 to N-1.');
}

/** A whole number 0..2^53-1. Throws `InvalidArgumentError`. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('A whole number 0..2^53-1 is expected.');
  }
  return value;
}

/** A whole number of at least 1. Throws `InvalidArgumentError`. */
export function positive(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError('A whole number of at least 1 is expected.');
  return value;
}

/** A number of threads. Throws `InvalidArgumentError`. */
export function jobCount(text: string): number {
  const value = positive(text);
  if (value <= jobsMax) return value;
  throw new InvalidArgumentError(
    `At most ${jobsMax} are allowed here: four for each processor, and 16 on any machine.`,
  );
}

/** A duration with a unit, in milliseconds. Throws `InvalidArgumentError`. */
export function durationMs(text: string): number {
  try {
    return parseDurationMs(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

/** A list with commas between its items. Throws `InvalidArgumentError`. */
export function names(text: string): readonly string[] {
  const items = text.split(',').filter((item) => item !== '');
  if (items.length === 0) throw new InvalidArgumentError('At least one name is expected.');
  return items;
}
