/**
 * The library `string` of Lua 5.1, over strings of bytes.
 *
 * Source: the Lua 5.1 reference manual, section 5.4.
 */
import type { Arguments } from './arguments.ts';
import { functionOf, libraryOf } from './arguments.ts';
import { valuesMax } from './base-library.ts';
import type { Operators } from './operators.ts';
import type { Capture, PatternMatch } from './patterns.ts';
import { findPattern } from './patterns.ts';
import type { LuaValue, Meter } from './values.ts';
import { LibraryError, LuaTable, formatShortest, isTrue, textOf, typeOf } from './values.ts';

/** Texts of up to this length are found in time proportional to that of the text that is searched. */
const shortChars = 250;

/**
 * The first place of `wanted` in `text` at `from` or behind it; -1 if there is none. The characters that it looks at
 * count as steps. The engine's own search takes, for a long text, up to the product of both lengths: so it looks for a
 * short beginning only, and the rest is compared wherever that is found.
 */
function placeOf(meter: Meter, text: string, wanted: string, from: number): number {
  const beginning = wanted.slice(0, shortChars);
  const places = text.slice(0, Math.max(0, text.length - wanted.length + beginning.length));
  for (let start = from; start + wanted.length <= text.length;) {
    const at = places.indexOf(beginning, start);
    const end = at < 0 ? places.length : at + beginning.length;
    meter.step((end - start) >>> 3);
    if (at < 0) return -1;
    let same = beginning.length;
    while (same < wanted.length && wanted.charCodeAt(same) === text.charCodeAt(at + same)) same += 1;
    meter.step(1 + ((same - beginning.length) >>> 3));
    if (same === wanted.length) return at;
    start = at + 1;
  }
  return -1;
}

const specials = /[\^$*+?.([%-]/;

/** The library `string`. */
export function stringLibrary(meter: Meter, operators: Operators): LuaTable {
  const library = new StringLibrary(meter, operators);
  return libraryOf(meter, {
    byte: (args) => {
      const text = args.text(1);
      const [first, last] = library.span(args, text, 1);
      if (last - first > valuesMax) throw new LibraryError('stack overflow (string slice too long)');
      meter.allocate(Math.max(0, last - first) * 8);
      return Array.from(text.slice(first, last), (char) => char.charCodeAt(0));
    },
    char: (args) => [
      args
        .from(1)
        .map((_, at) => {
          const code = args.integer(at + 1);
          if (code < 0 || code > 255) throw args.bad(at + 1, 'invalid value');
          return String.fromCharCode(code);
        })
        .join(''),
    ],
    find: (args) => library.find(args, true),
    match: (args) => library.find(args, false),
    gmatch: (args) => library.gmatch(args),
    gsub: (args) => library.gsub(args),
    format: (args) => [library.format(args)],
    len: (args) => [args.text(1).length],
    lower: (args) => [library.made(args.text(1)).replaceAll(/[A-Z]/g, (char) => char.toLowerCase())],
    upper: (args) => [library.made(args.text(1)).replaceAll(/[a-z]/g, (char) => char.toUpperCase())],
    rep: (args) => {
      const [text, count] = [args.text(1), Math.max(0, args.integer(2))];
      meter.allocate(text.length * count);
      return [text.repeat(count)];
    },
    reverse: (args) => [[...library.made(args.text(1))].reverse().join('')],
    sub: (args) => {
      const text = args.text(1);
      const [first, last] = library.span(args, text, -1);
      return [library.made(text.slice(first, last))];
    },
  });
}

class StringLibrary {
  readonly #meter: Meter;
  readonly #operators: Operators;

  constructor(meter: Meter, operators: Operators) {
    this.#meter = meter;
    this.#operators = operators;
  }

  /** Counts a string that was made. */
  made(text: string): string {
    this.#meter.allocate(text.length);
    return text;
  }

  /** The offsets that arguments 2 and 3 name, the second one excluded. `otherwise`: the last if there is no third. */
  span(args: Arguments, text: string, otherwise: 1 | -1): readonly [number, number] {
    const start = args.integer(2, 1);
    const end = args.any(3) === undefined && otherwise === 1 ? start : args.integer(3, -1);
    const first = start < 0 ? Math.max(0, text.length + start) : Math.max(0, start - 1);
    const last = end < 0 ? text.length + end + 1 : Math.min(end, text.length);
    return [first, Math.max(first, last)];
  }

  find(args: Arguments, wantsPlace: boolean): readonly LuaValue[] {
    const [text, pattern] = [args.text(1), args.text(2)];
    const start = args.integer(3, 1);
    const from = Math.max(0, start < 0 ? text.length + start : start - 1);
    if (from > text.length) return [undefined];
    const isPlain = wantsPlace && isTrue(args.any(4));
    if (!isPlain) this.#meter.step(pattern.length >>> 5);
    if (isPlain || (wantsPlace && !specials.test(pattern))) {
      const at = placeOf(this.#meter, text, pattern, from);
      return at < 0 ? [undefined] : [at + 1, at + pattern.length];
    }
    const match = findPattern(this.#meter, text, pattern, from);
    if (match === undefined) return [undefined];
    if (!wantsPlace) return this.#captures(text, match);
    return [match.start + 1, match.end, ...match.captures.map((one) => this.#capture(text, one))];
  }

  gmatch(args: Arguments): readonly LuaValue[] {
    const [text, pattern] = [args.text(1), args.text(2)];
    let from = 0;
    const next = functionOf('gmatch', () => {
      if (from > text.length) return [undefined];
      // In Lua 5.1 `^` is a letter like any other here.
      const match = findPattern(this.#meter, text, pattern, from, false);
      if (match === undefined) {
        from = text.length + 1;
        return [undefined];
      }
      from = match.end === match.start ? match.end + 1 : match.end;
      return this.#captures(text, match);
    });
    return [next];
  }

  gsub(args: Arguments): readonly LuaValue[] {
    const [text, pattern] = [args.text(1), args.text(2)];
    const replacement = args.any(3);
    if (!['string', 'number', 'table', 'function'].includes(typeOf(replacement))) {
      throw args.bad(3, `string/function/table expected, got ${typeOf(replacement)}`);
    }
    const countMax = args.integer(4, Infinity);
    const parts: string[] = [];
    let count = 0;
    let from = 0;
    while (count < countMax && from <= text.length) {
      const match = findPattern(this.#meter, text, pattern, from);
      if (match === undefined) break;
      parts.push(
        this.made(text.slice(from, match.start)),
        this.made(this.#replaced(text, match, replacement)),
      );
      count += 1;
      from = match.end;
      if (match.end === match.start) {
        parts.push(text.slice(from, from + 1));
        from += 1;
      }
      if (pattern.startsWith('^')) break;
    }
    parts.push(this.made(text.slice(from)));
    return [parts.join(''), count];
  }

  #replaced(text: string, match: PatternMatch, replacement: LuaValue): string {
    const whole = text.slice(match.start, match.end);
    const literal = textOf(replacement);
    if (literal !== undefined) {
      return literal.replaceAll(/%(.)?/gs, (_, char: string | undefined) => {
        if (char === '0') return this.made(whole);
        if (char === undefined || char < '1' || char > '9') return char ?? '';
        if (char === '1' && match.captures.length === 0) return this.made(whole);
        const capture = match.captures[Number(char) - 1];
        if (capture === undefined) throw new LibraryError('invalid capture index');
        return textOf(this.#capture(text, capture)) ?? '';
      });
    }
    const [first] = this.#captures(text, match);
    const value =
      replacement instanceof LuaTable
        ? this.#operators.index(replacement, first)
        : this.#operators.call(replacement, this.#captures(text, match))[0];
    if (!isTrue(value)) return whole;
    const found = textOf(value);
    if (found === undefined) throw new LibraryError(`invalid replacement value (a ${typeOf(value)})`);
    return found;
  }

  /** The captures of a match, or all of it if it has none. */
  #captures(text: string, { start, end, captures }: PatternMatch): readonly LuaValue[] {
    if (captures.length === 0) return [this.made(text.slice(start, end))];
    return captures.map((one) => this.#capture(text, one));
  }

  #capture(text: string, capture: Capture): LuaValue {
    return 'position' in capture ? capture.position : this.made(text.slice(capture.start, capture.end));
  }

  format(args: Arguments): string {
    let position = 1;
    const text = args
      .text(1)
      .replaceAll(
        directive,
        (_, flags: string, width: string, precision: string | undefined, kind: string) => {
          if (kind === '%') return '%';
          position += 1;
          const digits = precision === undefined ? undefined : Number(precision === '' ? '0' : precision);
          if (Number(width) > 99 || (digits ?? 0) > 99)
            throw new LibraryError('invalid format (width or precision too long)');
          const shown = this.#directive(args, position, kind, flags, digits);
          if (shown === undefined) throw new LibraryError(`invalid option '%${kind}' to 'format'`);
          return this.made(padded(shown, flags, Number(width), !'sqc'.includes(kind)));
        },
      );
    return this.made(text);
  }

  #directive(
    args: Arguments,
    at: number,
    kind: string,
    flags: string,
    digits: number | undefined,
  ): string | undefined {
    switch (kind) {
      case 'd':
      case 'i':
        return signed(flags, args.integer(at), (value) => String(BigInt(value)).padStart(digits ?? 1, '0'));
      case 'u':
        return String(BigInt.asUintN(64, BigInt(args.integer(at))));
      case 'c':
        return String.fromCharCode(args.integer(at) & 0xff);
      case 'x':
      case 'X':
      case 'o': {
        const value = BigInt.asUintN(64, BigInt(args.integer(at))).toString(kind === 'o' ? 8 : 16);
        return (kind === 'X' ? value.toUpperCase() : value).padStart(digits ?? 1, '0');
      }
      case 'e':
      case 'E': {
        const value = signed(flags, args.number(at), (number) => exponential(number, digits ?? 6));
        return kind === 'E' ? value.toUpperCase() : value;
      }
      case 'f':
        return signed(flags, args.number(at), (number) => fixed(number, digits ?? 6));
      case 'g':
      case 'G': {
        const value = signed(flags, args.number(at), (number) => formatShortest(number, digits ?? 6));
        return kind === 'G' ? value.toUpperCase() : value;
      }
      case 's': {
        const value = args.text(at);
        return digits === undefined ? value : value.slice(0, digits);
      }
      case 'q':
        return quoted(args.text(at));
      default:
        return undefined;
    }
  }
}

const directive = /%([-+ #0]*)([0-9]*)(?:\.([0-9]*))?(.?)/gs;

function signed(flags: string, value: number, format: (value: number) => string): string {
  if (!Number.isFinite(value)) return formatShortest(value, 6);
  const isNegative = value < 0 || Object.is(value, -0);
  return (
    (isNegative ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '') + format(Math.abs(value))
  );
}

function fixed(value: number, digits: number): string {
  if (value < 1e21) return value.toFixed(digits);
  return digits === 0 ? String(BigInt(value)) : `${BigInt(value)}.${'0'.repeat(digits)}`;
}

function exponential(value: number, digits: number): string {
  return value.toExponential(digits).replace(/e([-+])(\d)$/, 'e$10$2');
}

function padded(text: string, flags: string, width: number, isNumber: boolean): string {
  if (text.length >= width) return text;
  if (flags.includes('-')) return text.padEnd(width);
  if (!isNumber || !flags.includes('0')) return text.padStart(width);
  const sign = /^[-+ ]/.exec(text)?.[0] ?? '';
  return sign + text.slice(sign.length).padStart(width - sign.length, '0');
}

function quoted(text: string): string {
  const escaped = text.replaceAll(/["\\\n\r\0]/g, (char) => {
    if (char === '\r') return '\\r';
    return char === '\0' ? '\\000' : `\\${char}`;
  });
  return `"${escaped}"`;
}
