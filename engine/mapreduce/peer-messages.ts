/**
 * The messages between a job's coordinator and a replica: run this phase over these objects that you hold.
 *
 * The answer covers a prefix of the list, as many items as fit its size; the coordinator asks again for the rest.
 * Results of a function are sent as JSON text: a list for each item, or one list for all if the next phase reduces in
 * any order.
 */
import type { ByteReader } from '../base/bytes.ts';
import { ByteWriter, BytesError } from '../base/bytes.ts';
import { mustDecodeWhole } from '../base/decoding.ts';
import type { ErrorCode } from '../base/errors.ts';
import { errorCodes } from '../base/errors.ts';
import type { ByteString } from '../base/ids.ts';
import { byteStringFrom, byteStringOf, textOf } from '../base/ids.ts';
import type { ObjectKey, PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import { jsonDepthMax } from '../base/json-text.ts';
import { parseJson } from './fields.ts';
import type { Json } from './job.ts';

/** What the replica does with each object. */
export type Task =
  | { readonly kind: 'builtin'; readonly name: string; readonly arg: Json | undefined }
  | {
      readonly kind: 'wasm';
      readonly module: string;
      readonly version: string;
      readonly arg: Json | undefined;
    }
  | { readonly kind: 'link'; readonly bucket: ByteString | undefined; readonly tag: ByteString | undefined };

/** One object of a request. */
export interface WorkItem {
  readonly key: ObjectKey;
  readonly keydata: Json | undefined;
  /**
   * Set if no other replica is left: the function then sees a missing object as not found. Otherwise it is `missing`.
   */
  readonly last: boolean;
  /** Set if a missing object gives no result, because the client has not named it. */
  readonly silent: boolean;
}

/** A request: one phase over some objects. */
export interface Work {
  readonly task: Task;
  /** A built-in reduce function with `anyOrder`, which the replica applies to the task's results. */
  readonly reduce: { readonly name: string; readonly arg: Json | undefined } | undefined;
  /** Microseconds until the job's deadline. */
  readonly leftUs: number;
  readonly items: readonly WorkItem[];
}

/** The answer to a request. */
export interface WorkDone {
  /** Number of items answered, from the first on. */
  readonly count: number;
  /** Positions of answered items that this replica lacks. */
  readonly missing: readonly number[];
  /** Results of each item (none for missing ones), or one list if `reduce` was given; no list if `reduce` failed. */
  readonly results: readonly (readonly Json[])[];
  /** Approximate size of the results as JSON, in bytes. */
  readonly resultBytes: number;
  /** Why the item after the answered ones failed; it would fail at every replica. */
  readonly failure: WorkFailure | undefined;
}

/** A failure of the function itself. */
export interface WorkFailure {
  readonly code: ErrorCode;
  readonly detail: string;
}

const itemBytesMin = 4;

/** Encodes a request. */
export function encodeWork({ task, reduce, leftUs, items }: Work): Buffer {
  const writer = new ByteWriter(64 + items.reduce((sum, { key }) => sum + key.packed.length + 16, 0));
  writeJson(writer, taskJson(task));
  writeJson(writer, reduce === undefined ? null : { name: reduce.name, ...argJson(reduce.arg) });
  writer.varint(Math.max(0, Math.round(leftUs))).varint(items.length);
  for (const { key, keydata, last, silent } of items) {
    writer.string(key.packed).u8((last ? 1 : 0) | (silent ? 2 : 0) | (keydata === undefined ? 0 : 4));
    if (keydata !== undefined) writeJson(writer, keydata);
  }
  return writer.finish();
}

/** Decodes a request. Throws `BadRequest` for malformed bytes. */
export function decodeWork(payload: Uint8Array): Work {
  return mustDecodeWhole('a phase to run', payload, (reader) => {
    const task = taskOf(readJson(reader));
    const reduce = readJson(reader);
    const leftUs = reader.varint();
    const count = reader.varint();
    if (count > reader.left / itemBytesMin) throw new BytesError(`a phase over ${count} inputs`);
    const items = Array.from({ length: count }, () => readItem(reader));
    return { task, reduce: reduceOf(reduce), leftUs, items };
  });
}

/** Encodes an answer. */
export function encodeWorkDone(done: WorkDone): Buffer {
  const { count, missing, results, failure } = done;
  const writer = new ByteWriter(done.resultBytes + 64);
  writer.varint(count).varint(missing.length);
  for (const place of missing) writer.varint(place);
  writeJson(writer, results);
  writer.u8(failure === undefined ? 0 : 1);
  if (failure !== undefined) {
    writer.varint(errorCodes.indexOf(failure.code)).string(byteStringOf(failure.detail));
  }
  return writer.finish();
}

/** Decodes an answer. Throws `BadRequest` for malformed bytes. */
export function decodeWorkDone(payload: Uint8Array): WorkDone {
  return mustDecodeWhole('what a phase gave', payload, (reader) => {
    const count = reader.varint();
    const missing = Array.from({ length: bounded(reader, reader.varint()) }, () => reader.varint());
    const text = reader.bytes();
    const results = listsOf(jsonOf(text));
    if (reader.u8() === 0) return { count, missing, results, resultBytes: text.length, failure: undefined };
    // A newer peer may use codes that this node does not know.
    const code = errorCodes[reader.varint()] ?? 'Internal';
    const failure = { code, detail: textOf(reader.string()) };
    return { count, missing, results, resultBytes: text.length, failure };
  });
}

function readItem(reader: ByteReader): WorkItem {
  const key = unpackKey(reader.string() as PackedKey);
  if (key === undefined) throw new BytesError('a key is not in its packed form');
  const flags = reader.u8();
  const keydata = (flags & 4) === 0 ? undefined : readJson(reader);
  return { key, keydata, last: (flags & 1) !== 0, silent: (flags & 2) !== 0 };
}

function taskJson(task: Task): Json {
  switch (task.kind) {
    case 'builtin':
      return { kind: task.kind, name: task.name, ...argJson(task.arg) };
    case 'wasm':
      return { kind: task.kind, module: task.module, version: task.version, ...argJson(task.arg) };
    case 'link':
      return { kind: task.kind, ...latin1('bucket', task.bucket), ...latin1('tag', task.tag) };
  }
}

function taskOf(value: Json): Task {
  const field = fieldsOf(value);
  const arg = field('arg');
  switch (field('kind')) {
    case 'builtin':
      return { kind: 'builtin', name: textFrom(field('name')), arg };
    case 'wasm':
      return { kind: 'wasm', module: textFrom(field('module')), version: textFrom(field('version')), arg };
    case 'link':
      return { kind: 'link', bucket: byteStringIn(field('bucket')), tag: byteStringIn(field('tag')) };
    default:
      throw new BytesError('an unknown kind of task');
  }
}

function reduceOf(value: Json): Work['reduce'] {
  if (value === null) return undefined;
  const field = fieldsOf(value);
  return { name: textFrom(field('name')), arg: field('arg') };
}

/** Byte strings in JSON: each byte is one character. */
function latin1(name: string, value: ByteString | undefined): Readonly<Record<string, string>> {
  return value === undefined ? {} : { [name]: value };
}

function byteStringIn(value: Json | undefined): ByteString | undefined {
  return value === undefined ? undefined : byteStringFrom(Buffer.from(textFrom(value), 'latin1'));
}

function argJson(arg: Json | undefined): Readonly<Record<string, Json>> {
  return arg === undefined ? {} : { arg };
}

function fieldsOf(value: Json): (name: string) => Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new BytesError('an object was expected');
  const fields = value as Readonly<Record<string, Json>>;
  return (name) => (Object.hasOwn(fields, name) ? fields[name] : undefined);
}

function textFrom(value: Json | undefined): string {
  if (typeof value !== 'string') throw new BytesError('a text was expected');
  return value;
}

function listsOf(value: Json): readonly (readonly Json[])[] {
  if (!Array.isArray(value)) throw new BytesError('lists of results were expected');
  return value.map((one: Json): readonly Json[] => {
    if (!Array.isArray(one)) throw new BytesError('a list of results was expected');
    return one as readonly Json[];
  });
}

function writeJson(writer: ByteWriter, value: Json | readonly (readonly Json[])[]): void {
  writer.bytes(Buffer.from(JSON.stringify(value)));
}

function readJson(reader: ByteReader): Json {
  return jsonOf(reader.bytes());
}

/** Parses a value of the maximal depth inside the lists and objects that carry it between nodes. */
const wrappedDepthMax = jsonDepthMax + 8;

function jsonOf(bytes: Buffer): Json {
  try {
    return parseJson(bytes.toString('utf8'), wrappedDepthMax);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new BytesError(`no JSON: ${message}`);
  }
}

function bounded(reader: ByteReader, count: number): number {
  if (count > reader.left) throw new BytesError(`a list of ${count} items in ${reader.left} bytes`);
  return count;
}
