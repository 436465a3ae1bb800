/**
 * JSON as clients send it. JSON.parse takes any depth, and what walks the value later (JSON.stringify, to begin with)
 * would run out of stack: a bound on the depth is told as one.
 */
import { LockstepError } from './errors.ts';

/** Depth of a request's JSON; MapReduce holds what functions give back to it too. */
export const jsonDepthMax = 64;

/** Throws `BadRequest` when the text nests deeper than `depthMax`, and what JSON.parse throws when it is no JSON. */
export function parseFlat(text: string, depthMax = jsonDepthMax): unknown {
  checkDepth(text, depthMax);
  return JSON.parse(text);
}

function checkDepth(text: string, depthMax: number): void {
  // With so few of each there is no way to be deeper.
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

/** Has the text at most so many of them, in its strings or not? Looking for them costs less than reading every character. */
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
