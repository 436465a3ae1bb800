/** Durations as people write them: `90s`, `5m`, `1h`, `500ms`. */
import { LockstepError } from '../../engine/base/errors.ts';

const unitMs: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** Milliseconds. Throws `BadRequest` for anything else. */
export function parseDurationMs(text: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const factor = unitMs.get(unit);
  if (amount === undefined || factor === undefined) {
    throw new LockstepError('BadRequest', `"${text}" is no duration; write 500ms, 90s, 5m or 1h`);
  }
  return Math.round(Number(amount) * factor);
}
