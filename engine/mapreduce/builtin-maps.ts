/**
 * Built-in map functions: what they return for one object. Names and behaviour are those of Riak's JavaScript and
 * Erlang libraries, and of the Rust port's. They use the first sibling unless stated otherwise.
 */
import { LockstepError } from '../base/errors.ts';
import { describe, isArray, isObject, parseJson } from './fields.ts';
import type { FoundObject } from './found-object.ts';
import { notFoundJson, riakJson, valueText } from './found-object.ts';
import type { Json } from './job.ts';
import { FunctionError } from './phase-error.ts';
import { canonicalText } from './json-order.ts';

/** Returns the function's results for one object. Throws `FunctionError` for an object that it cannot process. */
export type MapFunction = (found: FoundObject, arg: Json | undefined) => readonly Json[];

/** A built-in map function. */
export interface BuiltinMap {
  readonly apply: MapFunction;
  /** Why an argument is invalid; undefined if it is valid. */
  readonly argRule?: (arg: Json | undefined) => string | undefined;
}

const notFoundActions = ['filter_notfound', 'include_notfound', 'include_keydata'];

/** The functions by name. */
export const builtinMaps: ReadonlyMap<string, BuiltinMap> = new Map<string, BuiltinMap>([
  ['Riak.mapValues', { apply: orNotFound((found) => [firstText(found)]) }],
  ['Riak.mapValuesJson', { apply: orNotFound((found) => [firstJson(found)]) }],
  ['Riak.mapByFields', { apply: mapByFields, argRule: mustBeObject }],
  ['map_object_value', { apply: mapObjectValue, argRule: notFoundRule }],
  ['map_object_value_list', { apply: mapObjectValueList, argRule: notFoundRule }],
  ['map_identity', { apply: orNotFound((found) => [riakJson(found)]) }],
  ['map_extract_field', { apply: extractField, argRule: mustNameField }],
]);

function orNotFound(apply: (found: FoundObject) => readonly Json[]): MapFunction {
  return (found) => (found.siblings.length === 0 ? [notFoundJson(found.input)] : apply(found));
}

function firstText({ siblings: [first] }: FoundObject): string {
  return first === undefined ? '' : valueText(first);
}

function firstJson(found: FoundObject): Json {
  const text = firstText(found);
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof LockstepError)
      throw new FunctionError(`the value is no JSON to work on: ${error.message}`);
    if (!(error instanceof SyntaxError)) throw error;
    throw new FunctionError(`the value is no JSON: ${describe(text)}`);
  }
}

/** The value if it is an object whose fields include those of the argument; otherwise nothing. */
function mapByFields(found: FoundObject, arg: Json | undefined): readonly Json[] {
  if (found.siblings.length === 0 || !isObject(arg)) return [];
  const value = firstJson(found);
  if (!isObject(value)) return [];
  const same = Object.entries(arg).every(([name, wanted]) => {
    const own = Object.hasOwn(value, name) ? value[name] : undefined;
    return own !== undefined && canonicalText(own) === canonicalText(wanted);
  });
  return same ? [value] : [];
}

function mapObjectValue(found: FoundObject, arg: Json | undefined): readonly Json[] {
  return found.siblings.length === 0 ? whenNotFound(found, arg) : [firstText(found)];
}

/** The elements of a value that is a JSON list. */
function mapObjectValueList(found: FoundObject, arg: Json | undefined): readonly Json[] {
  if (found.siblings.length === 0) return whenNotFound(found, arg);
  const value = firstJson(found);
  if (!isArray(value)) throw new FunctionError(`the value is not a list: ${describe(value)}`);
  return value;
}

function whenNotFound({ input }: FoundObject, arg: Json | undefined): readonly Json[] {
  if (arg === 'filter_notfound') return [];
  if (arg === 'include_keydata') return [input.keydata ?? null];
  if (isObject(arg) && arg['sub'] !== undefined) return [arg['sub']];
  return [notFoundJson(input)];
}

function extractField(found: FoundObject, arg: Json | undefined): readonly Json[] {
  if (found.siblings.length === 0) return [];
  const field = isObject(arg) ? arg['field'] : arg;
  const value = firstJson(found);
  if (typeof field !== 'string' || !isObject(value) || !Object.hasOwn(value, field)) return [];
  return [value[field] ?? null];
}

function notFoundRule(arg: Json | undefined): string | undefined {
  if (arg === undefined || arg === null || notFoundActions.some((action) => action === arg)) return undefined;
  if (isObject(arg) && arg['sub'] !== undefined) return undefined;
  return `arg must be one of ${notFoundActions.join(', ')} or {"sub": value}, not ${describe(arg)}`;
}

function mustBeObject(arg: Json | undefined): string | undefined {
  return isObject(arg) ? undefined : `arg must be an object of fields, not ${describe(arg)}`;
}

function mustNameField(arg: Json | undefined): string | undefined {
  const field = isObject(arg) ? arg['field'] : arg;
  return typeof field === 'string' ? undefined : `arg must name a field, not ${describe(arg)}`;
}
