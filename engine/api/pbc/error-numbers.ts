/**
 * How an error travels in `RpbErrorResp`: `errmsg` is a text, `errcode` the code's place in the error table plus one.
 * 0 stays what it is in Riak: an error without a number. Both sides of the protocol use this file.
 */
import type { ErrorCode } from '../../base/errors.ts';
import { errorCodes } from '../../base/errors.ts';

const numbers: ReadonlyMap<ErrorCode, number> = new Map(errorCodes.map((code, index) => [code, index + 1]));

/** The stable number of a code: 1 and up. */
export function errorNumberOf(code: ErrorCode): number {
  return numbers.get(code) ?? 0;
}

/** The code behind a number; undefined for 0 and for numbers of a later version. */
export function errorCodeOf(number: number): ErrorCode | undefined {
  return number === 0 ? undefined : errorCodes[number - 1];
}
