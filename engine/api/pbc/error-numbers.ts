/**
 * How an error travels in `RpbErrorResp`: `errmsg` is a text, `errcode` the code's place in the error table plus one.
 * 0 stays what it is in Riak: an error without a number. Both sides of the protocol use this file.
 */
import type { ErrorCode } from '../../base/errors.ts';
import { errorCodes, errorTable } from '../../base/errors.ts';

const numbers: ReadonlyMap<ErrorCode, number> = new Map(errorCodes.map((code, index) => [code, index + 1]));

/** Added to the number of an error that certainly left nothing done although errors of its code may. */
const definiteMark = 0x10000;

/** The stable number of a code: 1 and up. */
export function errorNumberOf(code: ErrorCode, definite = false): number {
  return (numbers.get(code) ?? 0) + (definite && !errorTable[code].definite ? definiteMark : 0);
}

/** The operation certainly did not happen. */
export function isDefinite(number: number): boolean {
  const code = errorCodeOf(number);
  return number >= definiteMark || (code !== undefined && errorTable[code].definite);
}

/** The code behind a number; undefined for 0 and for numbers of a later version. */
export function errorCodeOf(number: number): ErrorCode | undefined {
  return errorCodes[(number % definiteMark) - 1];
}
