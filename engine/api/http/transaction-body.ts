/**
 * A transaction's body: JSON to a `TransactionRequest`. Every refusal names the operation by its index and the rule
 * that it breaks; nothing of a refused batch has been applied.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { consistencyLevels } from '../../dispatch/requests.ts';
import type { Content, Link } from '../../object/content.ts';
import { tombstone } from '../../object/content.ts';
import type { VersionVector } from '../../object/dots.ts';
import type { Operation, TransactionRequest } from '../../xa/outcomes.ts';
import type { ContentLimits } from '../content-limits.ts';
import { checkContent } from '../content-limits.ts';
import type { KnowsType } from '../objects.ts';
import { parseContext, timeoutMsMax } from '../objects.ts';

export interface TransactionLimits {
  readonly operationCountMax: number;
  /** Values, names and what describes them, together. */
  readonly bytesMax: number;
  readonly content: ContentLimits;
  readonly knowsType: KnowsType;
}

/** A body that is refused: which operation (undefined: the whole), and by which rule. */
export class BodyError extends LockstepError {
  readonly index: number | undefined;
  readonly rule: string;

  constructor(code: ErrorCode, rule: string, detail: string, index?: number) {
    super(code, index === undefined ? detail : `operation ${index}: ${detail}`);
    this.rule = rule;
    this.index = index;
  }
}

type Json = Readonly<Record<string, unknown>>;

const batchFields = ['operations', 'force_abort', 'consistency', 'timeout_ms', 'id'];
const putFields = [
  ...['op', 'type', 'bucket', 'key', 'value', 'encoding', 'content_type', 'charset', 'content_encoding'],
  ...['meta', 'links', 'context', 'if_match', 'if_absent'],
];
const deleteFields = ['op', 'type', 'bucket', 'key', 'context', 'if_match', 'if_absent'];
const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const clientIdCharsMax = 128;

/** Reads a body; `bucket` is the path's, which operations may leave out. Throws `BodyError`. */
export function parseTransaction(
  body: Uint8Array,
  bucket: ByteString | undefined,
  limits: TransactionLimits,
): TransactionRequest {
  const batch = parseJson(body);
  knownFields(batch, batchFields, undefined);
  const { operations: given } = batch;
  if (!Array.isArray(given)) throw refused('operations', 'operations is a list of puts and deletes');
  if (given.length === 0) throw refused('empty', 'a transaction holds at least one operation');
  if (given.length > limits.operationCountMax) {
    const allowed = limits.operationCountMax;
    throw tooLarge('operation_count', `${given.length} operations; at most ${allowed} are allowed`);
  }
  const operations = given.map((one: unknown, index) => parseOperation(one, index, bucket, limits));
  checkDistinct(operations);
  checkBytes(operations, limits.bytesMax);
  return {
    operations,
    forceAbort: optionalFlag(batch, 'force_abort', undefined) ?? false,
    level: levelOf(batch),
    timeoutMs: timeoutOf(batch),
    clientId: clientIdOf(batch),
  };
}

function parseJson(body: Uint8Array): Json {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    throw refused('json', `the body is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isObject(value)) throw refused('json', 'the body is a JSON object with the field operations');
  return value;
}

function parseOperation(
  given: unknown,
  index: number,
  bucket: ByteString | undefined,
  limits: TransactionLimits,
): Operation {
  if (!isObject(given)) throw refused('operation', 'an operation is a JSON object', index);
  const { op } = given;
  if (op !== 'put' && op !== 'delete') throw refused('op', `op is put or delete, not ${show(op)}`, index);
  knownFields(given, op === 'put' ? putFields : deleteFields, index);
  const key = keyOf(given, index, bucket, limits.knowsType);
  const content = op === 'put' ? contentOf(given, index) : tombstone;
  try {
    checkContent(content, limits.content);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    throw tooLarge('content', error.message, index);
  }
  const ifMatch = contextOf(given, 'if_match', index);
  const ifAbsent = optionalFlag(given, 'if_absent', index) ?? false;
  if (ifAbsent && ifMatch !== undefined)
    throw refused('precondition', 'if_match and if_absent exclude each other', index);
  return { key, content, context: contextOf(given, 'context', index), ifMatch, ifAbsent };
}

function keyOf(
  given: Json,
  index: number,
  pathBucket: ByteString | undefined,
  knowsType: KnowsType,
): ObjectKey {
  const typeText = optionalText(given, 'type', index);
  const type = typeText === undefined ? defaultType : byteStringOf(typeText);
  if (type !== defaultType && !knowsType(type))
    throw refused('type', `unknown bucket type ${show(typeText)}`, index);
  const bucketText = optionalText(given, 'bucket', index);
  const bucket = bucketText === undefined ? pathBucket : byteStringOf(bucketText);
  if (bucket === undefined) throw refused('bucket', 'bucket is missing', index);
  if (pathBucket !== undefined && bucket !== pathBucket)
    throw refused('bucket', `bucket ${show(bucketText)} differs from the path's`, index);
  const key = optionalText(given, 'key', index);
  if (key === undefined) throw refused('key', 'key is missing', index);
  try {
    return objectKey(type, bucket, byteStringOf(key));
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    throw new BodyError(error.code, 'key', error.message, index);
  }
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

/** The bytes, and the content type that they have when none is named. */
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
  if (encoding === 'utf8') return { value: Buffer.from(value), contentType: 'text/plain' };
  return { value: base64Of(value, 'value', index), contentType: 'application/octet-stream' };
}

function metaOf(given: Json, index: number): Content['meta'] {
  const { meta } = given;
  if (meta === undefined) return [];
  if (!isObject(meta)) throw refused('meta', 'meta is an object of texts', index);
  return Object.entries(meta).map(([name, value]) => {
    if (typeof value !== 'string') throw refused('meta', `meta.${name} is a text`, index);
    return [byteStringOf(name), byteStringOf(value)];
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
      return byteStringOf(text);
    };
    return { bucket: part('bucket'), key: part('key'), tag: part('tag') };
  });
}

function contextOf(given: Json, field: string, index: number): VersionVector | undefined {
  const text = optionalText(given, field, index);
  if (text === undefined) return undefined;
  try {
    return parseContext(base64Of(text, field, index), field);
  } catch (error) {
    if (!(error instanceof LockstepError) || error instanceof BodyError) throw error;
    throw refused(field, error.message, index);
  }
}

function base64Of(text: string, field: string, index: number): Buffer {
  if (!base64Form.test(text)) throw refused('base64', `${field} is no base64`, index);
  return Buffer.from(text, 'base64');
}

function checkDistinct(operations: readonly Operation[]): void {
  const first = new Map<string, number>();
  operations.forEach(({ key }, index) => {
    const earlier = first.get(key.packed);
    if (earlier !== undefined)
      throw refused('duplicate_key', `its key is that of operation ${earlier} too`, index);
    first.set(key.packed, index);
  });
}

function checkBytes(operations: readonly Operation[], bytesMax: number): void {
  let bytes = 0;
  operations.forEach(({ key, content }, index) => {
    bytes += key.packed.length + content.value.length;
    for (const [name, value] of content.meta) bytes += name.length + value.length;
    for (const link of content.links) bytes += link.bucket.length + link.key.length + link.tag.length;
    if (bytes > bytesMax)
      throw tooLarge('bytes', `the transaction exceeds ${bytesMax} bytes with this operation`, index);
  });
}

function levelOf(batch: Json): TransactionRequest['level'] {
  const { consistency } = batch;
  if (consistency === undefined) return undefined;
  const level = consistencyLevels.find((one) => one === consistency);
  if (level !== undefined) return level;
  throw refused(
    'consistency',
    `consistency is one of ${consistencyLevels.join(', ')}, not ${show(consistency)}`,
  );
}

function timeoutOf(batch: Json): number | undefined {
  const { timeout_ms: timeout } = batch;
  if (timeout === undefined) return undefined;
  if (typeof timeout === 'number' && Number.isInteger(timeout) && timeout >= 1)
    return Math.min(timeout, timeoutMsMax);
  throw refused('timeout_ms', `timeout_ms is a whole number from 1, not ${show(timeout)}`);
}

function clientIdOf(batch: Json): string | undefined {
  const { id } = batch;
  if (id === undefined) return undefined;
  if (typeof id === 'string' && id.length >= 1 && id.length <= clientIdCharsMax) return id;
  throw refused('id', `id is a text of 1 to ${clientIdCharsMax} characters`);
}

function optionalText(given: Json, field: string, index: number): string | undefined {
  const value = given[field];
  if (value === undefined || typeof value === 'string') return value;
  throw refused(field, `${field} is a text, not ${show(value)}`, index);
}

function optionalFlag(given: Json, field: string, index: number | undefined): boolean | undefined {
  const value = given[field];
  if (value === undefined || typeof value === 'boolean') return value;
  throw refused(field, `${field} is true or false, not ${show(value)}`, index);
}

/** A mistyped field would do nothing in silence. */
function knownFields(given: Json, known: readonly string[], index: number | undefined): void {
  const unknown = Object.keys(given).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw refused(
      'unknown_field',
      `there is no field ${show(unknown)}; known are ${known.join(', ')}`,
      index,
    );
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function refused(rule: string, detail: string, index?: number): BodyError {
  return new BodyError('BadRequest', rule, detail, index);
}

function tooLarge(rule: string, detail: string, index?: number): BodyError {
  return new BodyError('TooLarge', rule, detail, index);
}
