/**
 * Decodes a transaction's JSON body to a `TransactionRequest`. It refuses malformed bodies; `api/transaction-rules.ts`
 * checks the rules that all listeners share.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { inexactNumberIn, parseFlat } from '../../base/json-text.ts';
import type { Content, Link } from '../../replica/object/content.ts';
import { tombstone } from '../../replica/object/content.ts';
import type { VersionVector } from '../../replica/object/dots.ts';
import type { Operation, TransactionRequest } from '../../transactions/formats/outcomes.ts';
import type { TransactionLimits } from '../transaction-rules.ts';
import {
  checkCount,
  checkOperation,
  checkTogether,
  clientIdOf,
  contextOf,
  levelOf,
  refused,
  show,
  timeoutOf,
} from '../transaction-rules.ts';
import type { Place } from './place.ts';

/** The bucket of the request's path, in which all operations of the batch lie. */
export type BucketOfPath = Pick<Place, 'type' | 'bucket'>;
type Json = Readonly<Record<string, unknown>>;

const batchFields = new Set(['operations', 'force_abort', 'consistency', 'timeout_ms', 'id']);
const putFields = new Set([
  ...['op', 'type', 'bucket', 'key', 'value', 'encoding', 'content_type', 'charset', 'content_encoding'],
  ...['meta', 'links', 'context', 'if_match', 'if_absent'],
]);
const deleteFields = new Set(['op', 'type', 'bucket', 'key', 'context', 'if_match', 'if_absent']);
const decoder = new TextDecoder('utf-8', { fatal: true });
const loneSurrogate = /\p{Surrogate}/u;
const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Parses a body. `place` is the path's bucket, which operations may leave out. Throws `BatchError`. */
export function parseTransaction(
  body: Uint8Array,
  place: BucketOfPath | undefined,
  limits: TransactionLimits,
): TransactionRequest {
  const text = textOf(body);
  const batch = parseJson(text);
  knownFields(batch, batchFields, undefined);
  const { operations: given } = batch;
  if (!Array.isArray(given)) throw refused('operations', 'operations is a list of puts and deletes');
  if (given.some(hasJsonValue)) mustBeExact(text);
  checkCount(given.length, limits);
  const operations = given.map((one: unknown, index) => parseOperation(one, index, place, limits));
  checkTogether(operations, limits);
  return {
    operations,
    forceAbort: optionalFlag(batch, 'force_abort', undefined) ?? false,
    level: levelOf(batch['consistency']),
    timeoutMs: timeoutOf(batch['timeout_ms']),
    clientId: clientIdOf(batch['id']),
  };
}

function textOf(body: Uint8Array): string {
  try {
    return decoder.decode(body);
  } catch (error) {
    throw noJson(error);
  }
}

function parseJson(text: string): Json {
  let value: unknown;
  try {
    value = parseFlat(text);
  } catch (error) {
    if (error instanceof LockstepError) throw refused('json', error.message);
    throw noJson(error);
  }
  if (!isObject(value)) throw refused('json', 'the body is a JSON object with the field operations');
  return value;
}

function noJson(error: unknown): LockstepError {
  return refused('json', `the body is no JSON: ${error instanceof Error ? error.message : String(error)}`);
}

/** Whether the operation's value is written as JSON in the body, which is then stored as its text. */
function hasJsonValue(operation: unknown): boolean {
  return isObject(operation) && typeof operation['value'] === 'object';
}

/** Refuses a number that would be stored as another one. */
function mustBeExact(text: string): void {
  const changed = inexactNumberIn(text);
  if (changed === undefined) return;
  const detail = `the number ${changed.slice(0, 60)} is beyond 2^53, and would be stored as another one: give the value as a string, or as base64`;
  throw refused('value', detail);
}

function parseOperation(
  given: unknown,
  index: number,
  place: BucketOfPath | undefined,
  limits: TransactionLimits,
): Operation {
  if (!isObject(given)) throw refused('operation', 'an operation is a JSON object', index);
  const { op } = given;
  if (op !== 'put' && op !== 'delete') throw refused('op', `op is put or delete, not ${show(op)}`, index);
  knownFields(given, op === 'put' ? putFields : deleteFields, index);
  const operation = {
    type: asInPath(given, 'type', place?.type, index),
    bucket: asInPath(given, 'bucket', place?.bucket, index),
    key: bytesIn(given, 'key', index),
    content: op === 'put' ? contentOf(given, index) : tombstone,
    context: contextIn(given, 'context', index),
    ifMatch: contextIn(given, 'if_match', index),
    ifAbsent: optionalFlag(given, 'if_absent', index) ?? false,
  };
  return checkOperation(operation, index, limits);
}

/** The operation's own value, or the path's. The two must not contradict each other. */
function asInPath(
  given: Json,
  name: 'type' | 'bucket',
  ofPath: ByteString | undefined,
  index: number,
): ByteString | undefined {
  const said = bytesIn(given, name, index);
  if (said !== undefined && ofPath !== undefined && said !== ofPath)
    throw refused(name, `${name} ${show(given[name])} differs from the path's`, index);
  return said ?? ofPath;
}

function contentOf(given: Json, index: number): Content {
  const { value, contentType } = valueOf(given, index);
  return {
    value,
    contentType: byteStringOf(optionalText(given, 'content_type', index) ?? contentType),
    charset: byteStringOf(optionalText(given, 'charset', index) ?? ''),
    contentEncoding: byteStringOf(optionalText(given, 'content_encoding', index) ?? ''),
    meta: metaOf(given, index),
    links: linksOf(given, index),
    tombstone: false,
  };
}

/** The value's bytes, and the content type that applies if the operation names none. */
function valueOf(given: Json, index: number): { value: Uint8Array; contentType: string } {
  const { value } = given;
  const encoding = optionalText(given, 'encoding', index) ?? 'utf8';
  if (encoding !== 'utf8' && encoding !== 'base64')
    throw refused('encoding', `encoding is utf8 or base64, not ${show(encoding)}`, index);
  if (typeof value === 'object' && value !== null) {
    if (encoding === 'base64') throw refused('value', 'a base64 value is a string', index);
    return { value: Buffer.from(JSON.stringify(value)), contentType: 'application/json' };
  }
  if (typeof value !== 'string')
    throw refused('value', 'value is a string, or a JSON object or array', index);
  if (encoding === 'utf8')
    return { value: Buffer.from(wellFormed(value, 'value', index)), contentType: 'text/plain' };
  return { value: base64Of(value, 'value', index), contentType: 'application/octet-stream' };
}

function metaOf(given: Json, index: number): Content['meta'] {
  const { meta } = given;
  if (meta === undefined) return [];
  if (!isObject(meta)) throw refused('meta', 'meta is an object of texts', index);
  return Object.entries(meta).map(([name, value]) => {
    if (typeof value !== 'string') throw refused('meta', `meta.${name} is a text`, index);
    return [byteStringOf(wellFormed(name, 'meta', index)), byteStringOf(wellFormed(value, 'meta', index))];
  });
}

function linksOf(given: Json, index: number): readonly Link[] {
  const { links } = given;
  if (links === undefined) return [];
  if (!Array.isArray(links)) throw refused('links', 'links is a list of {bucket, key, tag}', index);
  return links.map((one: unknown) => {
    const part = (name: string): ByteString => {
      const text = isObject(one) ? one[name] : undefined;
      if (typeof text !== 'string') throw refused('links', `a link has a text ${name}`, index);
      return byteStringOf(wellFormed(text, 'links', index));
    };
    return { bucket: part('bucket'), key: part('key'), tag: part('tag') };
  });
}

function contextIn(given: Json, field: string, index: number): VersionVector | undefined {
  const text = optionalText(given, field, index);
  return text === undefined ? undefined : contextOf(base64Of(text, field, index), field, index);
}

function bytesIn(given: Json, field: string, index: number): ByteString | undefined {
  const text = optionalText(given, field, index);
  return text === undefined ? undefined : byteStringOf(text);
}

function base64Of(text: string, field: string, index: number): Buffer {
  if (!base64Form.test(text)) throw refused('base64', `${field} is not base64`, index);
  return Buffer.from(text, 'base64');
}

function optionalText(given: Json, field: string, index: number): string | undefined {
  const value = given[field];
  if (value === undefined) return undefined;
  if (typeof value === 'string') return wellFormed(value, field, index);
  throw refused(field, `${field} is a text, not ${show(value)}`, index);
}

/** JSON can escape half of a surrogate pair. UTF-8 cannot hold it, and would store another character instead. */
function wellFormed(text: string, field: string, index: number): string {
  if (!loneSurrogate.test(text)) return text;
  throw refused(field, `${field} holds half of a surrogate pair, which no text in UTF-8 can`, index);
}

function optionalFlag(given: Json, field: string, index: number | undefined): boolean | undefined {
  const value = given[field];
  if (value === undefined || typeof value === 'boolean') return value;
  throw refused(field, `${field} is true or false, not ${show(value)}`, index);
}

/** A mistyped field would have no effect, and the client would not notice. */
function knownFields(given: Json, known: ReadonlySet<string>, index: number | undefined): void {
  for (const field of Object.keys(given)) {
    if (known.has(field)) continue;
    const fields = [...known].join(', ');
    throw refused('unknown_field', `there is no field ${show(field)}; known are ${fields}`, index);
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
