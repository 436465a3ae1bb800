/**
 * Reads untrusted JSON field by field. Every rejection is a `PlanInvalid` that names the path, what is there and what
 * is allowed. An object's unknown keys are rejected with the nearest known key.
 */
import { closest, distance } from 'fastest-levenshtein';

import { LockstepError } from '../../engine/base/errors.ts';
import type { Named } from '../check/named.ts';
import { findNamed, nearestNames } from '../check/named.ts';

/** A value in the plan and its path. */
export interface Field {
  readonly path: string;
  readonly value: unknown;
}

/** Throws `PlanInvalid`: `<path>: <complaint>`. */
export function refuse(field: Field, complaint: string): never {
  throw new LockstepError('PlanInvalid', `${field.path}: ${complaint}`);
}

/** The fields of an object that has exactly the `required` keys, and any of the `optional` ones. */
export function readObject<Required extends string, Optional extends string = never>(
  field: Field,
  required: readonly Required[],
  optional: readonly Optional[] = [],
): Readonly<Record<Required, Field>> & Readonly<Partial<Record<Optional, Field>>> {
  const source = asRecord(field);
  const known: readonly string[] = [...required, ...optional];
  for (const name of Object.keys(source)) {
    if (!known.includes(name)) refuse(field, `unknown key "${name}"; ${keysLike(name, known)}`);
  }
  const fields: Record<string, Field> = {};
  for (const name of known) {
    if (Object.hasOwn(source, name)) fields[name] = { path: `${field.path}.${name}`, value: source[name] };
    else if (required.some((one) => one === name)) refuse(field, `the key "${name}" is missing`);
  }
  return fields as Record<Required, Field> & Partial<Record<Optional, Field>>;
}

/** The key that is meant, if one is spelled alike; otherwise all keys. */
function keysLike(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'it has none';
  const near = closest(name, [...known]);
  return distance(name, near) * 2 <= Math.max(name.length, near.length)
    ? `did you mean "${near}"?`
    : `the keys are ${known.join(', ')}`;
}

/** Every entry of an object whose keys are free; at most `countMax`. */
export function readEntries(field: Field, countMax: number): readonly (readonly [string, Field])[] {
  const entries = Object.entries(asRecord(field));
  if (entries.length > countMax) refuse(field, `${entries.length} entries; at most ${countMax} are allowed`);
  return entries.map(([name, value]) => [name, { path: `${field.path}.${name}`, value }]);
}

/** The items of a list of at most `countMax`. */
export function readList<T>(field: Field, countMax: number, readItem: (item: Field) => T): readonly T[] {
  const { value } = field;
  if (!Array.isArray(value)) return refuse(field, `a list is expected, not ${kindOf(value)}`);
  if (value.length > countMax) refuse(field, `${value.length} items; at most ${countMax} are allowed`);
  return value.map((item: unknown, index) => readItem({ path: `${field.path}[${index}]`, value: item }));
}

/** A whole number in `min..max`. */
export function readInteger(field: Field, min: number, max: number): number {
  const { value } = field;
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    return refuse(field, `a whole number ${min}..${max} is expected, not ${kindOf(value)}`);
  }
  if (value < min || value > max) refuse(field, `${value} is outside ${min}..${max}`);
  return value;
}

/** A text of 1..`lengthMax` characters. */
export function readText(field: Field, lengthMax: number): string {
  const { value } = field;
  if (typeof value !== 'string') return refuse(field, `a text is expected, not ${kindOf(value)}`);
  if (value.length === 0 || value.length > lengthMax) {
    refuse(field, `a text of 1..${lengthMax} characters is expected, this has ${value.length}`);
  }
  return value;
}

/** True or false. */
export function readFlag(field: Field): boolean {
  const { value } = field;
  return typeof value === 'boolean'
    ? value
    : refuse(field, `true or false is expected, not ${kindOf(value)}`);
}

/** One of the given words. */
export function readChoice<Word extends string>(field: Field, words: readonly Word[]): Word {
  const { value } = field;
  const word = words.find((one) => one === value);
  return word ?? refuse(field, `one of ${words.join(', ')} is expected, not ${shown(value)}`);
}

/**
 * The row of a table that the field names by its name or its old code. `what` says what the rows are (`kind of fault`).
 */
export function readNamed<Row extends Named>(field: Field, rows: readonly Row[], what: string): Row {
  const { value } = field;
  if (typeof value !== 'string')
    return refuse(field, `the name of a ${what} is expected, not ${kindOf(value)}`);
  const near = (): string => nearestNames(rows, value);
  return (
    findNamed(rows, value) ?? refuse(field, `there is no ${what} ${shown(value)}; the nearest are ${near()}`)
  );
}

function asRecord(field: Field): Readonly<Record<string, unknown>> {
  const { value } = field;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse(field, `an object is expected, not ${kindOf(value)}`);
  }
  return value as Readonly<Record<string, unknown>>;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `the ${typeof value} ${shown(value)}`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
