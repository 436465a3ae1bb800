/**
 * Kinds of values that a key can hold: each reads a value from YAML and describes its allowed range. Readers never
 * throw; they report faults to `report` and return undefined.
 */
import { unknownKey } from './faults.ts';

/** Receives each fault. `path` is relative to the key: `''`, `[2]`, `[2].address`. */
export type Report = (path: string, problem: string) => void;

/** Reads and validates values of one kind. */
export interface ValueKind<T> {
  /** The allowed range as text that follows "allowed: ". */
  readonly allowed: string;
  /** The value; undefined after at least one call of `report`. */
  read(given: unknown, path: string, report: Report): { readonly value: T } | undefined;
}

/**
 * A number whose spelling differs from its usual one (`0x1F`, `012`, `1e3`). Read as a number it is that number; read
 * as text it may be a name whose spelling matters.
 */
export class SpelledNumber {
  readonly value: number;
  readonly source: string;

  constructor(value: number, source: string) {
    this.value = value;
    this.source = source;
  }
}

/** A kind of one plain value. `parse` returns undefined for values that are not allowed. */
export function plain<T>(allowed: string, parse: (given: unknown) => { value: T } | undefined): ValueKind<T> {
  return {
    allowed,
    read(given, path, report) {
      const read = parse(given instanceof SpelledNumber ? given.value : given);
      if (read === undefined) report(path, `${showGiven(given)} given; allowed: ${allowed}`);
      return read;
    },
  };
}

/** A whole number from `min` to `max`; `unit` is a plural noun for messages. */
export function wholeNumber(min: number, max: number, unit = ''): ValueKind<number> {
  const of = unit === '' ? '' : ` of ${unit}`;
  return plain(`a whole number${of} from ${min} to ${max}`, (given) =>
    typeof given === 'number' && Number.isInteger(given) && given >= min && given <= max
      ? { value: given }
      : undefined,
  );
}

/** true or false. */
export const flag: ValueKind<boolean> = plain('true or false', (given) =>
  typeof given === 'boolean' ? { value: given } : undefined,
);

/** Text of 1 to `lengthMax` characters without control characters. */
export function text(lengthMax: number): ValueKind<string> {
  return textual(`a text of 1 to ${lengthMax} characters without control characters`, (given) =>
    typeof given === 'string' && given.length >= 1 && given.length <= lengthMax && !/\p{Cc}/u.test(given)
      ? given
      : undefined,
  );
}

/** A text that `parse` accepts. */
export function parsedText<T>(allowed: string, parse: (given: string) => T | undefined): ValueKind<T> {
  return textual(allowed, (given) => {
    // An unquoted name such as 7 is a number to YAML but a text to its author.
    const words = typeof given === 'number' && Number.isInteger(given) ? String(given) : given;
    return typeof words === 'string' ? parse(words) : undefined;
  });
}

/**
 * A kind of text. A value that YAML reads as something else is not guessed at: the message tells the author to quote
 * it.
 */
function textual<T>(allowed: string, parse: (given: unknown) => T | undefined): ValueKind<T> {
  return {
    allowed,
    read(given, path, report) {
      const value = parse(given);
      if (value !== undefined) return { value };
      const quoted = showGiven(given);
      // The hint is left out if quotes would not help.
      const help = parse(quoted) === undefined ? '' : unquoted(given);
      report(path, `${quoted} given${help}; allowed: ${allowed}`);
      return undefined;
    },
  };
}

/** The hint for an unquoted text that YAML reads as something else; empty for other values. */
function unquoted(given: unknown): string {
  if (given instanceof SpelledNumber)
    return `, which YAML reads as the number ${given.value}: put it in quotes`;
  if (typeof given === 'number') return ', which is a number: put it in quotes';
  if (typeof given === 'boolean') return ', which is no text: put it in quotes';
  return '';
}

/** One of some words, ignoring case. */
export function oneOf<T extends string>(words: readonly T[]): ValueKind<T> {
  return parsedText(`one of ${words.join(', ')}`, (given) =>
    words.find((word) => word.toLowerCase() === given.toLowerCase()),
  );
}

/** A list of at most `countMax` values of one kind. */
export function listOf<T>(kind: ValueKind<T>, countMax: number): ValueKind<readonly T[]> {
  const allowed = `a list of at most ${countMax}, each ${kind.allowed}`;
  return {
    allowed,
    read(given, path, report) {
      if (!Array.isArray(given) || given.length > countMax) {
        report(path, `${showGiven(given)} given; allowed: ${allowed}`);
        return undefined;
      }
      const read = given.map((item: unknown, index) => kind.read(item, `${path}[${index}]`, report));
      const good = read.filter((item) => item !== undefined);
      return good.length === read.length ? { value: good.map((item) => item.value) } : undefined;
    },
  };
}

/** A map from names to values of one kind, at most `countMax`, in the file's order. */
export function mapOf<T>(
  name: ValueKind<string>,
  kind: ValueKind<T>,
  countMax: number,
): ValueKind<ReadonlyMap<string, T>> {
  const allowed = `a map of at most ${countMax}, from ${name.allowed} to ${kind.allowed}`;
  return {
    allowed,
    read(given, path, report) {
      if (!(given instanceof Map) || given.size > countMax) {
        report(path, `${showGiven(given)} given; allowed: ${allowed}`);
        return undefined;
      }
      const values = new Map<string, T>();
      for (const [key, value] of given as ReadonlyMap<unknown, unknown>) {
        const at = `${path}.${showKey(key)}`;
        const readName = name.read(key, at, report);
        const read = kind.read(value, at, report);
        if (readName === undefined || read === undefined) continue;
        // To YAML 7 and "7" are two keys.
        if (values.has(readName.value)) report(at, 'is given twice; names must be different');
        values.set(readName.value, read.value);
      }
      return values.size === given.size ? { value: values } : undefined;
    },
  };
}

/** A kind whose values are converted by `convert`, which may report further faults. */
export function mapped<Given, T>(
  kind: ValueKind<Given>,
  allowed: string,
  convert: (given: Given, path: string, report: Report) => { value: T } | undefined,
): ValueKind<T> {
  return {
    allowed,
    read(given, path, report) {
      const read = kind.read(given, path, report);
      return read === undefined ? undefined : convert(read.value, path, report);
    },
  };
}

/** The same kind, typed for a field that may be absent. */
export function optional<T>(kind: ValueKind<T>): ValueKind<T | undefined> {
  return kind;
}

/** A field of a `record`. */
export interface Field<T> {
  readonly kind: ValueKind<T>;
  /** The default; absent if the field is mandatory. */
  readonly fallback?: T;
}

/** The fields of a `record`, by name. */
export type Fields<T> = { readonly [Name in keyof T]: Field<T[Name]> };

/** A map with exactly these fields. */
export function record<T extends object>(fields: Fields<T>): ValueKind<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  const allowed = `a map with ${names.join(', ')}`;
  return {
    allowed,
    read(given, path, report) {
      if (!(given instanceof Map)) {
        report(path, `${showGiven(given)} given; allowed: ${allowed}`);
        return undefined;
      }
      const entries = given as ReadonlyMap<unknown, unknown>;
      const values: Partial<T> = {};
      let whole = true;
      for (const name of names) {
        const read = readField(entries, name, fields[name], path, report);
        if (read === undefined) whole = false;
        else values[name] = read.value;
      }
      for (const key of entries.keys()) {
        if (names.some((name) => name === key)) continue;
        report(`${path}.${showKey(key)}`, unknownKey(names, showKey(key)));
        whole = false;
      }
      return whole ? { value: values as T } : undefined;
    },
  };
}

function readField<T>(
  entries: ReadonlyMap<unknown, unknown>,
  name: string,
  field: Field<T>,
  path: string,
  report: Report,
): { readonly value: T } | undefined {
  if (entries.has(name)) return field.kind.read(entries.get(name), `${path}.${name}`, report);
  if ('fallback' in field) return { value: field.fallback };
  report(`${path}.${name}`, `must be given; allowed: ${field.kind.allowed}`);
  return undefined;
}

/** A short description of the given value, for a message of one line. */
export function showGiven(given: unknown): string {
  if (given === null || given === undefined) return 'nothing';
  if (Array.isArray(given)) return `a list of ${given.length}`;
  if (given instanceof Map) return `a map of ${given.size}`;
  if (typeof given === 'string') return JSON.stringify(shorten(given));
  if (given instanceof SpelledNumber) return shorten(given.source);
  if (typeof given === 'number' || typeof given === 'boolean' || typeof given === 'bigint')
    return String(given);
  return `a value of type ${typeof given}`;
}

/** A map's key as text; `?` if it is no scalar. */
export function showKey(key: unknown): string {
  if (typeof key === 'string') return shorten(key);
  if (key instanceof SpelledNumber) return shorten(key.source);
  return typeof key === 'number' || typeof key === 'boolean' ? String(key) : '?';
}

function shorten(value: string): string {
  return value.length > 64 ? `${value.slice(0, 64)}…` : value;
}

/** A power of two from 16 to 2^20. */
export const powerOfTwo: ValueKind<number> = plain(
  'a power of two from 16 to 1048576',
  (given): { value: number } | undefined => {
    if (typeof given !== 'number' || !Number.isInteger(given) || given < 16 || given > 2 ** 20)
      return undefined;
    return (given & (given - 1)) === 0 ? { value: given } : undefined;
  },
);
