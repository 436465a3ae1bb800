/** Parses durations as written on a command line: `500ms`, `90s`, `5m`, `1h`. The unit is mandatory. */
import { LockstepError } from './errors.ts';

const unitMs: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/**
 * The duration in milliseconds, rounded. Throws `BadRequest`, naming the allowed forms, for a number without a unit or
 * any other text.
 */
export function parseDurationMs(text: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([a-z]*)$/.exec(text) ?? [];
  const factor = unitMs.get(unit);
  if (amount !== undefined && factor !== undefined) return Math.round(Number(amount) * factor);
  const problem = amount !== undefined && unit === '' ? 'has no unit' : 'is not a duration';
  throw new LockstepError(
    'BadRequest',
    `"${text}" ${problem}; write a number with ms, s, m or h: 500ms, 90s, 5m, 1h`,
  );
}
