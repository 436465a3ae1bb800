/**
 * Matches names against the patterns of KEYS and SCAN: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before a literal character.
 * The matcher takes at most pattern length times name length steps. It uses no regular expression, whose time could
 * explode.
 */

type Step = { readonly kind: 'any' } | { readonly kind: 'one'; readonly matches: (code: number) => boolean };

/** Compiles a pattern to a test of names (byte strings). */
export function compileGlob(pattern: Buffer): (name: string) => boolean {
  const steps = stepsOf(pattern);
  return (name) => matchSteps(steps, name);
}

function stepsOf(pattern: Buffer): readonly Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const code = pattern[at] ?? 0;
    if (code === star) {
      if (steps.at(-1)?.kind !== 'any') steps.push({ kind: 'any' });
    } else if (code === questionMark) steps.push({ kind: 'one', matches: () => true });
    else if (code === openBracket) {
      const { matches, end } = classAt(pattern, at + 1);
      steps.push({ kind: 'one', matches });
      at = end;
    } else {
      const literal = code === backslash && at + 1 < pattern.length ? (pattern[(at += 1)] ?? 0) : code;
      steps.push({ kind: 'one', matches: (other) => other === literal });
    }
  }
  return steps;
}

/**
 * A set of characters. One that is not closed extends to the end, as in Redis. So do its other oddities: a dash makes a
 * range of what is before and behind it, `]` included, unless a backslash is before it. `end`: the offset of the set's
 * last character.
 */
function classAt(pattern: Buffer, from: number): { matches: (code: number) => boolean; end: number } {
  const negated = pattern[from] === caret;
  const ranges: (readonly [number, number])[] = [];
  let at = negated ? from + 1 : from;
  for (; at < pattern.length; at++) {
    const first = pattern[at] ?? 0;
    const left = pattern.length - at;
    if (first === backslash && left >= 2) {
      at += 1;
      const literal = pattern[at] ?? 0;
      ranges.push([literal, literal]);
    } else if (first === closeBracket) break;
    else if (left >= 3 && pattern[at + 1] === dash) {
      at += 2;
      const last = pattern[at] ?? 0;
      ranges.push([Math.min(first, last), Math.max(first, last)]);
    } else ranges.push([first, first]);
  }
  const inside = (code: number): boolean => ranges.some(([low, high]) => code >= low && code <= high);
  return { matches: negated ? (code) => !inside(code) : inside, end: Math.min(at, pattern.length - 1) };
}

/** Backtracks to the last `*` only: whatever an earlier one could match, the last one can match too. */
function matchSteps(steps: readonly Step[], name: string): boolean {
  let step = 0;
  let at = 0;
  let starStep = -1;
  let starAt = 0;
  while (at < name.length) {
    const next = steps[step];
    if (next?.kind === 'any') {
      starStep = step;
      starAt = at;
      step += 1;
    } else if (next?.matches(name.charCodeAt(at)) === true) {
      step += 1;
      at += 1;
    } else if (starStep >= 0) {
      starAt += 1;
      at = starAt;
      step = starStep + 1;
    } else return false;
  }
  while (steps[step]?.kind === 'any') step += 1;
  return step === steps.length;
}

const star = 0x2a;
const questionMark = 0x3f;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const backslash = 0x5c;
const caret = 0x5e;
const dash = 0x2d;
