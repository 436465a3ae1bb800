/**
 * Lua's patterns: character classes, repetitions, captures, `%b` and `%f`. The matcher backtracks and counts every step,
 * so that a pattern that takes for ever ends the script.
 *
 * Source: the Lua 5.1 reference manual, section 5.4.1, and the matcher of its implementation.
 */
import type { Meter } from './values.ts';
import { LibraryError } from './values.ts';

/** A capture: a part of the subject, or a position (`()`). */
export type Capture = { readonly start: number; readonly end: number } | { readonly position: number };

/** A match: its place in the subject, `end` excluded. */
export interface PatternMatch {
  readonly start: number;
  readonly end: number;
  readonly captures: readonly Capture[];
}

interface OpenCapture {
  readonly start: number;
  /** -1: open; -2: a position. */
  length: number;
}

const capturesMax = 32;
const depthMax = 200;

/** Finds the first match at `from` or, unless the pattern is anchored, behind it. Throws `LibraryError`. */
export function findPattern(
  meter: Meter,
  subject: string,
  pattern: string,
  from: number,
  isAnchored = pattern.startsWith('^'),
): PatternMatch | undefined {
  for (let start = from; start <= subject.length; start++) {
    const matcher = new Matcher(meter, subject, pattern);
    const end = matcher.match(start, isAnchored ? 1 : 0);
    if (end >= 0) return { start, end, captures: matcher.captured() };
    if (isAnchored) return undefined;
  }
  return undefined;
}

class Matcher {
  readonly #meter: Meter;
  readonly #subject: string;
  readonly #pattern: string;
  readonly #captures: OpenCapture[] = [];
  #depth = 0;

  constructor(meter: Meter, subject: string, pattern: string) {
    this.#meter = meter;
    this.#subject = subject;
    this.#pattern = pattern;
  }

  captured(): readonly Capture[] {
    return this.#captures.map(({ start, length }) => {
      if (length === -1) throw new LibraryError('unfinished capture');
      return length === -2 ? { position: start + 1 } : { start, end: start + length };
    });
  }

  /** The end of a match of the pattern from `p` at `s`; -1 if there is none. */
  match(s: number, p: number): number {
    if (this.#depth > depthMax) throw new LibraryError('pattern too complex');
    this.#depth += 1;
    try {
      return this.#follow(s, p);
    } finally {
      this.#depth -= 1;
    }
  }

  #follow(from: number, at: number): number {
    let [s, p] = [from, at];
    for (;;) {
      this.#meter.step();
      if (p === this.#pattern.length) return s;
      const char = this.#pattern[p];
      if (char === '(') return this.#open(s, p);
      if (char === ')') return this.#close(s, p);
      if (char === '$' && p + 1 === this.#pattern.length) return s === this.#subject.length ? s : -1;
      const special = char === '%' ? this.#special(s, p) : undefined;
      if (special !== undefined) {
        if (special.s < 0) return -1;
        ({ s, p } = special);
        continue;
      }
      const end = this.#classEnd(p);
      const repetition = this.#pattern[end];
      if (repetition === '*') return this.#most(s, p, end, 0);
      if (repetition === '+') return this.#most(s, p, end, 1);
      if (repetition === '-') return this.#least(s, p, end);
      const fits = this.#fits(s, p, end);
      if (repetition === '?') {
        const matched = fits ? this.match(s + 1, end + 1) : -1;
        if (matched >= 0) return matched;
        p = end + 1;
      } else {
        if (!fits) return -1;
        s += 1;
        p = end;
      }
    }
  }

  /** `%b`, `%f` and back references; undefined for a class. */
  #special(s: number, p: number): { readonly s: number; readonly p: number } | undefined {
    const char = this.#pattern[p + 1] ?? '';
    if (char === 'b') return { s: this.#balanced(s, p + 2), p: p + 4 };
    if (char === 'f') {
      const start = p + 2;
      if (this.#pattern[start] !== '[') throw new LibraryError("missing '[' after '%f' in pattern");
      const end = this.#classEnd(start);
      const before = s === 0 ? '\0' : (this.#subject[s - 1] ?? '\0');
      const here = this.#subject[s] ?? '\0';
      const isFrontier = !this.#inSet(before, start, end) && this.#inSet(here, start, end);
      return { s: isFrontier ? s : -1, p: end };
    }
    if (char >= '0' && char <= '9') {
      const capture = this.#captures[Number(char) - 1];
      if (capture === undefined || capture.length < 0) throw new LibraryError('invalid capture index');
      const text = this.#subject.slice(capture.start, capture.start + capture.length);
      this.#meter.step(text.length);
      return { s: this.#subject.startsWith(text, s) ? s + text.length : -1, p: p + 2 };
    }
    return undefined;
  }

  #open(s: number, p: number): number {
    const isPosition = this.#pattern[p + 1] === ')';
    if (this.#captures.length >= capturesMax) throw new LibraryError('too many captures');
    const count = this.#captures.length;
    this.#captures.push({ start: s, length: isPosition ? -2 : -1 });
    const end = this.match(s, p + (isPosition ? 2 : 1));
    if (end < 0) this.#captures.length = count;
    return end;
  }

  #close(s: number, p: number): number {
    const open = this.#captures.findLast(({ length }) => length === -1);
    if (open === undefined) throw new LibraryError('invalid pattern capture');
    open.length = s - open.start;
    const end = this.match(s, p + 1);
    if (end < 0) open.length = -1;
    return end;
  }

  #most(s: number, p: number, end: number, least: number): number {
    let count = 0;
    while (this.#fits(s + count, p, end)) count += 1;
    for (; count >= least; count--) {
      const matched = this.match(s + count, end + 1);
      if (matched >= 0) return matched;
    }
    return -1;
  }

  #least(from: number, p: number, end: number): number {
    for (let s = from; ; s++) {
      const matched = this.match(s, end + 1);
      if (matched >= 0) return matched;
      if (!this.#fits(s, p, end)) return -1;
    }
  }

  #balanced(s: number, p: number): number {
    const [open, close] = [this.#pattern[p], this.#pattern[p + 1]];
    if (open === undefined || close === undefined) throw new LibraryError('unbalanced pattern');
    if (this.#subject[s] !== open) return -1;
    let depth = 1;
    for (let at = s + 1; at < this.#subject.length; at++) {
      this.#meter.step();
      const char = this.#subject[at];
      if (char === close) depth -= 1;
      else if (char === open) depth += 1;
      if (depth === 0) return at + 1;
    }
    return -1;
  }

  /** The offset behind the class that begins at `p`. */
  #classEnd(p: number): number {
    const char = this.#pattern[p];
    if (char === '%') {
      if (p + 1 >= this.#pattern.length) throw new LibraryError("malformed pattern (ends with '%')");
      return p + 2;
    }
    if (char !== '[') return p + 1;
    let at = p + 1;
    if (this.#pattern[at] === '^') at += 1;
    do {
      if (at >= this.#pattern.length) throw new LibraryError("malformed pattern (missing ']')");
      at += this.#pattern[at] === '%' ? 2 : 1;
    } while (this.#pattern[at] !== ']');
    this.#meter.step((at - p) >>> 3);
    return at + 1;
  }

  #fits(s: number, p: number, end: number): boolean {
    this.#meter.step();
    const char = this.#subject[s];
    if (char === undefined) return false;
    switch (this.#pattern[p]) {
      case '.':
        return true;
      case '%':
        return isInClass(char, this.#pattern[p + 1] ?? '');
      case '[':
        return this.#inSet(char, p, end);
      default:
        return this.#pattern[p] === char;
    }
  }

  /** Whether a character is in the set from `[` at `p` to behind `]` at `end`. */
  #inSet(char: string, p: number, end: number): boolean {
    const isNegated = this.#pattern[p + 1] === '^';
    this.#meter.step((end - p) >>> 3);
    for (let at = p + (isNegated ? 2 : 1); at < end - 1; at++) {
      const one = this.#pattern[at] ?? '';
      if (one === '%') {
        at += 1;
        if (isInClass(char, this.#pattern[at] ?? '')) return !isNegated;
      } else if (this.#pattern[at + 1] === '-' && at + 2 < end - 1) {
        const last = this.#pattern[at + 2] ?? '';
        if (one <= char && char <= last) return !isNegated;
        at += 2;
      } else if (one === char) return !isNegated;
    }
    return isNegated;
  }
}

const classes: Readonly<Record<string, RegExp>> = {
  a: /[A-Za-z]/,
  c: /[^ -~\x80-\xff]/,
  d: /[0-9]/,
  l: /[a-z]/,
  p: /[!-/:-@[-`{-~]/,
  s: /[\t-\r ]/,
  u: /[A-Z]/,
  w: /[A-Za-z0-9]/,
  x: /[A-Fa-f0-9]/,
  z: /\0/,
};

/** Whether a character is in the class of a letter after `%`: an upper-case letter is the complement. */
function isInClass(char: string, letter: string): boolean {
  const lower = letter.toLowerCase();
  const known = classes[lower];
  if (known === undefined) return letter === char;
  return known.test(char) === (letter === lower);
}
