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
 * The first number in the JSON `text` that `JSON.parse` turns into another one: a whole number beyond 2^53, or a number
 * beyond all that it can hold, which would become `null`. Undefined if there is none.
 */
export function inexactNumberIn(text: string): string | undefined {
  if (!/\d{16}|\d[eE]\+?\d{3}/.test(text)) return undefined;
  let inText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inText) {
      if (code === backslash) at += 1;
      else if (code === quote) inText = false;
    } else if (code === quote) inText = true;
    else if (isNumeral(code)) {
      const from = at;
      while (isNumeral(text.charCodeAt(at + 1))) at += 1;
      const number = text.slice(from, at + 1);
      if (/^-?\d{16,}$/.test(number) ? !isExact(number) : !Number.isFinite(Number(number))) return number;
    }
  }
  return undefined;
}

function isExact(digits: string): boolean {
  const number = Number(digits);
  return Number.isFinite(number) && BigInt(number) === BigInt(digits);
}

/** Whether the character may be part of a number. */
function isNumeral(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || '+-.eE'.includes(String.fromCharCode(code));
}

function checkDepth(text: string, depthMax: number): void {
  // With so few opening brackets of each kind the text cannot nest deeper.
  if (opensAtMost(text, '{', depthMax / 2) && opensAtMost(text, '[', depthMax / 2)) return;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inText) {
      if (code === backslash) at += 1;
      else if (code === quote) inText = false;
    } else if (code === quote) inText = true;
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

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const openBrace = 0x7b;
