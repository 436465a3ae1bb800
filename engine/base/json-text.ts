/**
 * Parses JSON from clients with a bound on its nesting. `JSON.parse` accepts any depth, but code that walks the value
 * later (`JSON.stringify`, to begin with) would overflow the stack.
 */
import { LockstepError } from './errors.ts';

/** Default depth limit of a request's JSON, in levels. MapReduce applies it to the results of functions as well. */
export const jsonDepthMax = 64;

/**
 * Parses `text`. Throws `BadRequest` if it nests deeper than `depthMax`, and `SyntaxError` (from `JSON.parse`) if it is
 * not JSON.
 */
export function parseFlat(text: string, depthMax = jsonDepthMax): unknown {
  checkDepth(text, depthMax);
  return JSON.parse(text);
}

/**
 * The first number in the JSON `text` that is another one once it was parsed and printed again: a whole number beyond
 * 2^53 of which a double keeps the first digits alone, or a number beyond all doubles, which would become `null`.
 * Undefined if there is none. `text` is valid JSON.
 */
export function inexactNumberIn(text: string): string | undefined {
  if (!/\d{16}|\d[eE]\+?\d{3}/.test(text)) return undefined;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === minus || isDigit(code)) {
      const from = at;
      while (isOfNumber(text.charCodeAt(at + 1))) at += 1;
      const number = text.slice(from, at + 1);
      if (/^-?\d{16,}$/.test(number) ? !isExact(number) : !Number.isFinite(Number(number))) return number;
    }
  }
  return undefined;
}

function isExact(digits: string): boolean {
  const number = Number(digits);
  return Number.isFinite(number) && printed(Math.abs(number)) === digits.replace('-', '');
}

/** The digits of a whole number as JSON shows it, without an exponent: `12300` for `1.23e+4`. */
function printed(number: number): string {
  const [mantissa = '', exponent] = String(number).split('e+');
  return exponent === undefined ? mantissa : mantissa.replace('.', '').padEnd(Number(exponent) + 1, '0');
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Whether the character may continue a number. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || '+-.eE'.includes(String.fromCharCode(code));
}

/** The offset of the quote that ends the string which begins at `from`; that of the text's end if none does. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) at += 1;
    else if (code === quote) return at;
  }
  return text.length;
}

function checkDepth(text: string, depthMax: number): void {
  // With so few opening brackets of each kind the text cannot nest deeper.
  if (opensAtMost(text, '{', depthMax / 2) && opensAtMost(text, '[', depthMax / 2)) return;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === openBracket || code === openBrace) {
      depth += 1;
      if (depth > depthMax)
        throw new LockstepError('BadRequest', `JSON nests deeper than ${depthMax} levels`);
    } else if (code === openBracket + 2 || code === openBrace + 2) depth -= 1;
  }
}

/**
 * Whether `text` holds at most `countMax` of `opening`, inside or outside of strings. A search costs less than reading
 * every character.
 */
function opensAtMost(text: string, opening: '{' | '[', countMax: number): boolean {
  let at = -1;
  for (let count = 0; count <= countMax; count++) {
    at = text.indexOf(opening, at + 1);
    if (at < 0) return true;
  }
  return false;
}

const minus = 0x2d;
const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const openBrace = 0x7b;
