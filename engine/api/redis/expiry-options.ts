/** Parses when a key expires: in seconds or milliseconds, from now or since the epoch. */
import { mustReadInteger } from './numbers.ts';
import { invalidExpiry } from './refusals.ts';

/** Seconds or milliseconds from now, seconds or milliseconds since the epoch. */
export type ExpiryUnit = 'EX' | 'PX' | 'EXAT' | 'PXAT';

/** The latest instant that is stored: it has at most 15 digits. Later ones, more than 31,000 years away, become it. */
const instantMsMax = 999_999_999_999_999n;
const least = -(2n ** 63n);
const most = 2n ** 63n - 1n;

/** The unit of that name in upper case; undefined for another word. */
export function expiryUnitOf(word: string): ExpiryUnit | undefined {
  return word === 'EX' || word === 'PX' || word === 'EXAT' || word === 'PXAT' ? word : undefined;
}

/** The instant in milliseconds since the epoch. Throws `Refusal`, naming `command`, if the argument is out of range. */
export function instantOf(
  unit: ExpiryUnit,
  argument: Buffer | undefined,
  nowMs: number,
  command: string,
): number {
  const given = mustReadInteger(argument);
  const inMs = unit === 'EX' || unit === 'EXAT' ? given * 1000n : given;
  const at = unit === 'EX' || unit === 'PX' ? inMs + BigInt(nowMs) : inMs;
  if (inMs > most || inMs < least || at > most) throw invalidExpiry(command);
  if (at > instantMsMax) return Number(instantMsMax);
  return at < -instantMsMax ? -Number(instantMsMax) : Number(at);
}

/** The same for commands that set a value: the argument must be positive. */
export function futureInstantOf(
  unit: ExpiryUnit,
  argument: Buffer | undefined,
  nowMs: number,
  command: string,
): number {
  if (mustReadInteger(argument) <= 0n) throw invalidExpiry(command);
  return instantOf(unit, argument, nowMs, command);
}
