/**
 * The library `cjson`: JSON texts to values and back. A JSON array is a table of the values at 1, 2, 3; null is
 * `cjson.null`. Texts are bytes: UTF-8 passes through unchanged.
 *
 * Source: the manual of lua-cjson.
 */
import { libraryOf } from './arguments.ts';
import type { LuaValue, Meter } from './values.ts';
import { LibraryError, LuaTable, formatShortest, luaNull, typeOf } from './values.ts';

const depthMax = 1000;

/** The library `cjson`. */
export function jsonLibrary(meter: Meter): LuaTable {
  return libraryOf(
    meter,
    {
      encode: (args) => {
        const text = encode(meter, args.must(1), 0);
        return [text];
      },
      decode: (args) => {
        const text = args.text(1);
        meter.allocate(text.length);
        let parsed: unknown;
        try {
          parsed = JSON.parse(withBytes(text));
        } catch {
          throw new LibraryError('Expected value but found invalid token');
        }
        return [decoded(meter, parsed, 0)];
      },
    },
    { null: luaNull },
  );
}

/** Escapes of characters beyond ASCII become the bytes of their UTF-8 form, as other characters are bytes already. */
function withBytes(text: string): string {
  return text.replaceAll(
    /\\\\|\\u([0-9a-f]{4})(?:\\u([0-9a-f]{4}))?/gi,
    (escape, first?: string, second?: string) => {
      if (first === undefined) return escape;
      const codes = [first, second ?? ''].filter((one) => one !== '').map((one) => Number.parseInt(one, 16));
      const bytes = Buffer.from(String.fromCharCode(...codes), 'utf8').toString('latin1');
      return bytes.replaceAll(
        /["\\]|[^ -~\x80-\xff]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
    },
  );
}

function decoded(meter: Meter, value: unknown, depth: number): LuaValue {
  meter.step();
  if (depth > depthMax) throw new LibraryError('Found too many nested data structures');
  if (value === null) return luaNull;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  const table = new LuaTable(meter);
  if (Array.isArray(value)) value.forEach((one, at) => table.set(at + 1, decoded(meter, one, depth + 1)));
  else if (typeof value === 'object') {
    for (const [key, one] of Object.entries(value)) table.set(key, decoded(meter, one, depth + 1));
  }
  return table;
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
};

function quoted(meter: Meter, text: string): string {
  meter.allocate(text.length + 2);
  const body = text.replaceAll(
    /["\\/]|[^ -~\x80-\xff]/g,
    (char) => escapes[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `"${body}"`;
}

function encode(meter: Meter, value: LuaValue, depth: number): string {
  meter.step();
  if (depth > depthMax) throw new LibraryError(`Cannot serialise, excessive depth (${depth})`);
  if (value === undefined || value === luaNull) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return quoted(meter, value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new LibraryError('Cannot serialise number: must not be NaN or Inf');
    return formatShortest(value, 14);
  }
  if (!(value instanceof LuaTable)) {
    throw new LibraryError(`Cannot serialise ${typeOf(value)}: type not supported`);
  }
  const length = arrayLength(meter, value);
  const parts: string[] = [];
  if (length !== undefined && length > 0) {
    for (let at = 1; at <= length; at++) parts.push(encode(meter, value.get(at), depth + 1));
    return `[${parts.join(',')}]`;
  }
  for (let entry = value.next(undefined); entry !== undefined; entry = value.next(entry[0])) {
    const [key, one] = entry;
    if (typeof key !== 'string' && typeof key !== 'number') {
      throw new LibraryError('Cannot serialise table: table key must be a number or string');
    }
    const name = typeof key === 'number' ? formatShortest(key, 14) : key;
    parts.push(`${quoted(meter, name)}:${encode(meter, one, depth + 1)}`);
  }
  return `{${parts.join(',')}}`;
}

/** The length of a table that is an array: it has positive integer keys alone, without great gaps. */
function arrayLength(meter: Meter, table: LuaTable): number | undefined {
  let most = 0;
  let count = 0;
  for (let entry = table.next(undefined); entry !== undefined; entry = table.next(entry[0])) {
    meter.step();
    const [key] = entry;
    if (typeof key !== 'number' || !Number.isInteger(key) || key < 1) return undefined;
    most = Math.max(most, key);
    count += 1;
  }
  if (most > 10 && most > count * 2)
    throw new LibraryError('Cannot serialise table: excessively sparse array');
  return most;
}
