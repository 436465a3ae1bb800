/** When a key shall expire, as commands say it: seconds or milliseconds, from now or since the epoch. */
import { mustReadInteger } from './numbers.ts';
import { invalidExpiry } from './refusals.ts';

export type ExpiryUnit = 'EX' | 'PX' | 'EXAT' | 'PXAT';

/** Latest instant that is kept: it has 15 digits at most. */
const instantMsMax = 999_999_999_999_999n;

export function expiryUnitOf(word: string): ExpiryUnit | undefined {
  return word === 'EX' || word === 'PX' || word === 'EXAT' || word === 'PXAT' ? word : undefined;
}

/** The instant in milliseconds since the epoch. Throws `Refusal` for what is no instant; `command` is named in it. */
export function instantOf(
  unit: ExpiryUnit,
  argument: Buffer | undefined,
  nowMs: number,
  command: string,
): number {
  const given = mustReadInteger(argument);
  const inMs = unit === 'EX' || unit === 'EXAT' ? given * 1000n : given;
  const at = unit === 'EX' || unit === 'PX' ? inMs + BigInt(nowMs) : inMs;
  if (at > instantMsMax || at < -instantMsMax) throw invalidExpiry(command);
  return Number(at);
}

/** The same for commands that set a value: it may not be in the past by its own words. */
export function futureInstantOf(
  unit: ExpiryUnit,
  argument: Buffer | undefined,
  nowMs: number,
  command: string,
): number {
  if (mustReadInteger(argument) <= 0n) throw invalidExpiry(command);
  return instantOf(unit, argument, nowMs, command);
}
