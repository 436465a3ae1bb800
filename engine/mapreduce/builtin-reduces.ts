/**
 * Built-in reduce functions. A phase's inputs arrive in batches. `reduce` is applied to a batch, and `merge` to the
 * earlier results followed by the new ones. A function thus sees each input once, and the result does not depend on the
 * cut into batches. A function without `merge` needs all inputs at once.
 *
 * `anyOrder`: in addition, the order of inputs does not matter, so a replica may reduce the results of its map phase
 * before it sends them (sums of fractions may then differ in their last digits).
 */
import { describe, isArray } from './fields.ts';
import { isNotFound } from './found-object.ts';
import type { Json } from './job.ts';
import { canonicalText, compareJson } from './json-order.ts';
import { FunctionError } from './phase-error.ts';

/** Throws `FunctionError` for inputs that it cannot process. */
type Reduce = (values: readonly Json[], arg: Json | undefined) => readonly Json[];

/** A built-in reduce function. */
export interface BuiltinReduce {
  readonly reduce: Reduce;
  readonly merge?: Reduce;
  readonly anyOrder?: boolean;
  /** Why an argument is invalid; undefined if it is valid. */
  readonly argRule?: (arg: Json | undefined) => string | undefined;
}

const sum: BuiltinReduce = { reduce: sumOf, merge: sumOf, anyOrder: true };
const sort: BuiltinReduce = { reduce: sorted, merge: sorted };
const count: BuiltinReduce = { reduce: (values) => [values.length], merge: sumOf, anyOrder: true };
const identity: BuiltinReduce = { reduce: (values) => values, merge: (values) => values };

/** The functions by name. */
export const builtinReduces: ReadonlyMap<string, BuiltinReduce> = new Map<string, BuiltinReduce>([
  ['Riak.reduceSum', sum],
  ['Riak.reduceMin', extreme(-1)],
  ['Riak.reduceMax', extreme(1)],
  ['Riak.reduceSort', { ...sort, argRule: noSourceCode }],
  ['Riak.reduceNumericSort', { reduce: numericallySorted, merge: numericallySorted }],
  ['Riak.reduceLimit', { reduce: limited, merge: limited, argRule: mustBeCount }],
  ['Riak.reduceSlice', { reduce: sliced, argRule: mustBeRange }],
  ['Riak.filterNotFound', { reduce: found, merge: (values) => values }],
  ['reduce_set_union', { reduce: union, merge: union }],
  ['reduce_sum', sum],
  ['reduce_sort', sort],
  ['reduce_count_inputs', count],
  ['reduce_count', count],
  ['reduce_identity', identity],
  ['reduce_string_to_integer', { reduce: integers, merge: (values) => values }],
]);

function found(values: readonly Json[]): readonly Json[] {
  return values.filter((value) => !isNotFound(value));
}

function sumOf(values: readonly Json[]): readonly Json[] {
  let total = 0;
  for (const value of values) {
    if (isNotFound(value)) continue;
    if (typeof value !== 'number') throw new FunctionError(`a sum is of numbers, not ${describe(value)}`);
    total += value;
  }
  // JSON between nodes, and to the client, has no word for an infinite number.
  if (!Number.isFinite(total)) throw new FunctionError('the sum is too large for a number of JSON');
  return [total];
}

function extreme(sign: -1 | 1): BuiltinReduce {
  const reduce: Reduce = (values) => {
    const there = found(values);
    const [first] = there;
    if (first === undefined) return [];
    return [there.reduce((best, value) => (compareJson(value, best) * sign > 0 ? value : best), first)];
  };
  return { reduce, merge: reduce, anyOrder: true };
}

function sorted(values: readonly Json[]): readonly Json[] {
  return values.toSorted(compareJson);
}

function numericallySorted(values: readonly Json[]): readonly Json[] {
  const numbers = values.map((value) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number === 'number' && !Number.isNaN(number)) return { value, number };
    throw new FunctionError(`a numeric sort is of numbers, not ${describe(value)}`);
  });
  return numbers.sort((left, right) => left.number - right.number).map(({ value }) => value);
}

function limited(values: readonly Json[], arg: Json | undefined): readonly Json[] {
  return typeof arg === 'number' ? values.slice(0, arg) : values;
}

function sliced(values: readonly Json[], arg: Json | undefined): readonly Json[] {
  const [start, end] = isArray(arg) ? arg : [];
  return typeof start === 'number' && typeof end === 'number' ? values.slice(start, end) : values;
}

/** Each value once, at its first position. */
function union(values: readonly Json[]): readonly Json[] {
  const seen = new Set<string>();
  return values.filter((value) => {
    const text = canonicalText(value);
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

function integers(values: readonly Json[]): readonly Json[] {
  return values.map((value) => {
    if (typeof value === 'number') return value;
    const isWhole = typeof value === 'string' && /^[+-]?\d+$/.test(value);
    if (isWhole && Number.isFinite(Number(value))) return Number(value);
    throw new FunctionError(`an integer is written in digits, and fits a double; this is ${describe(value)}`);
  });
}

function noSourceCode(arg: Json | undefined): string | undefined {
  if (typeof arg !== 'string') return undefined;
  return 'arg must not be source code, which is not run here; values are sorted in their own order (take a Wasm module for another one)';
}

function mustBeCount(arg: Json | undefined): string | undefined {
  if (typeof arg === 'number' && Number.isInteger(arg) && arg >= 0) return undefined;
  return `arg must be how many values to keep, not ${describe(arg)}`;
}

function mustBeRange(arg: Json | undefined): string | undefined {
  const sound = isArray(arg) && arg.length === 2 && arg.every((bound) => Number.isInteger(bound));
  return sound ? undefined : `arg must be [start, end], not ${describe(arg)}`;
}
