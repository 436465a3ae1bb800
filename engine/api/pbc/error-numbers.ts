/**
 * Maps errors to and from `RpbErrorResp`: `errmsg` is a text, `errcode` the code's index in the error table plus one.
 * Riak's own texts have errcode 0, as Riak sends them: a client that knows them compares the text alone, and some
 * clients return another kind of error for any other number. Server and client code both use this file.
 */
import type { ErrorCode } from '../../base/errors.ts';
import { errorCodes, errorTable } from '../../base/errors.ts';

const numbers: ReadonlyMap<ErrorCode, number> = new Map(errorCodes.map((code, index) => [code, index + 1]));

/** Added to the number of an error that certainly had no effect, although its code leaves that open. */
const definiteMark = 0x10000;

/** Riak's own texts, or their beginnings, and the code that each stands for. */
const riakTexts: readonly { readonly code: ErrorCode; readonly text: RegExp }[] = [
  { code: 'Timeout', text: /^timeout$/ },
  { code: 'NoQuorum', text: /^\{(r|pr|w|dw|pw|node_confirms)_val_unsatisfied,\d+,\d+\}$/ },
  { code: 'PreconditionFailed', text: /^(match_found|modified|notfound)$/ },
  { code: 'BadRequest', text: /^(Bucket|Key|Type) cannot be zero-length$/ },
  { code: 'BadRequest', text: /^Unknown message code: / },
  { code: 'BadRequest', text: /^Invalid bucket properties: no_default_update$/ },
  { code: 'BadRequest', text: /^Security not enabled$/ },
  { code: 'NotFound', text: /^(Invalid|Unknown) bucket type: / },
  { code: 'NotFound', text: /^Invalid bucket properties: not_active$/ },
  { code: 'Unauthorized', text: /^Authentication failed$/ },
];

/** The code that a text of Riak's stands for; undefined for any other text. */
export function codeOfRiakText(text: string): ErrorCode | undefined {
  return riakTexts.find((row) => row.text.test(text))?.code;
}

/** The `errcode` to send for an error of this code and text. */
export function wireNumberOf(code: ErrorCode, text: string, definite: boolean): number {
  const number = errorNumberOf(code, definite);
  // The number is sent if it says more than the text.
  return number < definiteMark && codeOfRiakText(text) === code ? 0 : number;
}

/** The stable number of a code: 1 and up. */
export function errorNumberOf(code: ErrorCode, definite = false): number {
  return (numbers.get(code) ?? 0) + (definite && !errorTable[code].definite ? definiteMark : 0);
}

/** Whether the operation certainly did not happen. */
export function isDefinite(number: number): boolean {
  const code = errorCodeOf(number);
  return number >= definiteMark || (code !== undefined && errorTable[code].definite);
}

/** The code of a number; undefined for 0 and for numbers of a later version. */
export function errorCodeOf(number: number): ErrorCode | undefined {
  return errorCodes[(number % definiteMark) - 1];
}
