/** Checked access to a request's JSON. Every refusal names the place, the value found and what is allowed. */
import { LockstepError } from '../base/errors.ts';
import type { ByteString } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { parseFlat } from '../base/json-text.ts';
import type { Json } from './job.ts';

/** A JSON object. */
export type JsonObject = Readonly<Record<string, Json>>;

/** Throws `BadRequest`. `where` names the place (`phase 2`), `rule` states what is allowed there. */
export function refuse(where: string, rule: string): never {
  throw new LockstepError('BadRequest', `${where}: ${rule}`);
}

/** Parses JSON. Throws `BadRequest` if it nests deeper than `depthMax`, `SyntaxError` if it is not JSON. */
export function parseJson(text: string, depthMax?: number): Json {
  return parseFlat(text, depthMax) as Json;
}

/** Whether the value is a JSON object (no list, not null). */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isArray(value);
}

/** Whether the value is a JSON list. */
export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** A short form of a value for a message, at most 60 characters. */
export function describe(value: Json | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** Throws `BadRequest` if the object has a field that is not among `allowed`. */
export function checkFields(object: JsonObject, allowed: readonly string[], where: string): void {
  const unknown = Object.keys(object).find((name) => !allowed.includes(name));
  if (unknown === undefined) return;
  refuse(where, `the field ${describe(unknown)} is not known; the fields are ${allowed.join(', ')}`);
}

/** The field as text; undefined if absent. Throws `BadRequest` for other values. */
export function textField(object: JsonObject, name: string, where: string): string | undefined {
  const value = object[name];
  if (value === undefined) return undefined;
  return typeof value === 'string' ? value : refuse(where, `${name} must be a text, not ${describe(value)}`);
}

/** The field as a flag; undefined if absent. Throws `BadRequest` for other values. */
export function flagField(object: JsonObject, name: string, where: string): boolean | undefined {
  const value = object[name];
  if (value === undefined || typeof value === 'boolean') return value;
  return refuse(where, `${name} must be true or false, not ${describe(value)}`);
}

/** A non-empty name of a bucket, a key or a type. Throws `BadRequest` for other values. */
export function nameOf(value: Json | undefined, what: string, where: string): ByteString {
  if (typeof value === 'string' && value !== '') return byteStringOf(value);
  return refuse(where, `the ${what} must be a text that is not empty, not ${describe(value)}`);
}
