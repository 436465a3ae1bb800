/**
 * Encodes and decodes, without reflection, the bodies of the messages of every read and write: ReadObject, MergeObject,
 * MergeBatch, Object, Written and Coordinated of schema.ts, and all messages whose one field is `words`. The bytes are those
 * that reflection would give, and unknown fields are skipped as it does. For an object of 160 bytes, encoding takes 0.4
 * us instead of 0.7, and decoding 0.13 us instead of 0.25 (Node.js 20, one server core of the 2020s).
 */
import { LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { TraceContext } from '../../base/request-trace.ts';
import { packedKey } from './bodies.ts';
import type { FrameArena } from './frame-arena.ts';
import { FrameError, headerBytes } from './frames.ts';
import type { Description, PeerReply } from './messages.ts';
import { digestBytes } from './messages.ts';
import { ProtobufCursor, varintBytes, wireTypes, writeVarint } from './protobuf-cursor.ts';

const firstRun = 8 + wireTypes.run;
const firstVarint = 8 + wireTypes.varint;
const secondFixed32 = 16 + wireTypes.fixed32;
const secondVarint = 16 + wireTypes.varint;
const secondRun = 16 + wireTypes.run;
const thirdRun = 24 + wireTypes.run;
const thirdVarint = 24 + wireTypes.varint;
const fourthRun = 32 + wireTypes.run;
const fourthVarint = 32 + wireTypes.varint;
const traceRun = 120 + wireTypes.run;

type ObjectReply = Extract<PeerReply, { kind: 'object' }>;

/**
 * A decoded ReadObject (`bytesMax` and `version` are optional) or MergeObject (with `object`; `clientName` is optional).
 */
export interface KeyedBody {
  readonly key: PackedKey;
  readonly token: Token;
  readonly object: Buffer | undefined;
  readonly bytesMax: number | undefined;
  /** The fourth field: a MergeObject's `clientName`, or a ReadObject's `version`. */
  readonly fourth: Buffer | undefined;
  readonly trace: TraceContext | undefined;
}

/** The frame of a ReadObject. */
export function encodeKeyed(
  arena: FrameArena,
  kind: number,
  id: number,
  key: PackedKey,
  token: Token,
  bytesMax: number | undefined,
  version: Uint8Array | undefined,
): Buffer {
  const boundBytes = bytesMax === undefined ? 0 : 1 + varintBytes(bytesMax);
  const versionBytes = version === undefined ? 0 : runBytes(version.length);
  let at = arena.begin(keyedBytes(key) + boundBytes + versionBytes);
  const { buffer } = arena;
  at = writeKeyed(buffer, at, key, token);
  if (bytesMax !== undefined) {
    buffer[at++] = thirdVarint;
    at = writeVarint(buffer, at, bytesMax);
  }
  if (version !== undefined) at = writeRun(buffer, at, fourthRun, version);
  return arena.finish(kind, id, at);
}

/** The frame of a MergeObject. */
export function encodeKeyedObject(
  arena: FrameArena,
  kind: number,
  id: number,
  key: PackedKey,
  token: Token,
  object: Uint8Array,
  clientName: Uint8Array | undefined,
): Buffer {
  const nameBytes = clientName === undefined ? 0 : runBytes(clientName.length);
  let at = arena.begin(keyedBytes(key) + runBytes(object.length) + nameBytes);
  const { buffer } = arena;
  at = writeKeyed(buffer, at, key, token);
  at = writeRun(buffer, at, thirdRun, object);
  if (clientName !== undefined) at = writeRun(buffer, at, fourthRun, clientName);
  return arena.finish(kind, id, at);
}

/** Decodes a ReadObject or MergeObject. Throws `FrameError` unless key and token are present and well-formed. */
export function decodeKeyed(body: Buffer): KeyedBody {
  const cursor = new ProtobufCursor(body);
  let key: PackedKey | undefined;
  let token: Token | undefined;
  let object: Buffer | undefined;
  let bytesMax: number | undefined;
  let fourth: Buffer | undefined;
  let trace: TraceContext | undefined;
  for (let tag = cursor.tag(); tag !== 0; tag = cursor.tag()) {
    if (tag === firstRun) key = packedKey(cursor.string());
    else if (tag === secondFixed32) token = cursor.fixed32() as Token;
    else if (tag === thirdVarint) bytesMax = cursor.varint();
    else if (tag === thirdRun) object = cursor.run();
    else if (tag === fourthRun) fourth = cursor.run();
    else if (tag === traceRun) trace = traceOf(cursor.run());
    else cursor.skip(tag);
  }
  if (key === undefined) throw missing('key');
  if (token === undefined) throw missing('token');
  return { key, token, object, bytesMax, fourth, trace };
}

/**
 * The frame of an Object (without one: an empty body) or a Coordinated, or of another message with one field of bytes.
 */
export function encodeObjectBody(
  arena: FrameArena,
  kind: number,
  id: number,
  object: Uint8Array | undefined,
): Buffer {
  let at = arena.begin(object === undefined ? 0 : runBytes(object.length));
  if (object !== undefined) at = writeRun(arena.buffer, at, firstRun, object);
  return arena.finish(kind, id, at);
}

/** A decoded MergeBatch. */
export interface BatchBody {
  readonly words: Buffer;
  readonly clientName: Buffer | undefined;
  readonly trace: TraceContext | undefined;
}

/** The frame of a MergeBatch. */
export function encodeBatchBody(
  arena: FrameArena,
  kind: number,
  id: number,
  words: Uint8Array,
  clientName: Uint8Array | undefined,
): Buffer {
  if (clientName === undefined) return encodeObjectBody(arena, kind, id, words);
  let at = arena.begin(runBytes(words.length) + runBytes(clientName.length));
  at = writeRun(arena.buffer, at, firstRun, words);
  return arena.finish(kind, id, writeRun(arena.buffer, at, secondRun, clientName));
}

/** Decodes a MergeBatch. Throws `FrameError` unless `words` is present. */
export function decodeBatchBody(body: Buffer): BatchBody {
  const cursor = new ProtobufCursor(body);
  let words: Buffer | undefined;
  let clientName: Buffer | undefined;
  let trace: TraceContext | undefined;
  for (let tag = cursor.tag(); tag !== 0; tag = cursor.tag()) {
    if (tag === firstRun) words = cursor.run();
    else if (tag === secondRun) clientName = cursor.run();
    else if (tag === traceRun) trace = traceOf(cursor.run());
    else cursor.skip(tag);
  }
  if (words === undefined) throw missing('words');
  return { words, clientName, trace };
}

const traceIdBytes = 16;
/** Bytes of a trace context: the trace's id, the span's id, and a byte of flags as in W3C's `traceparent`. */
const traceBytes = 25;
const isSampled = 1;

/**
 * The frame `frame` of a request with the context of its trace behind the other fields. `frame` is released. A frame
 * that would become too large stays as it is.
 */
export function withTrace(
  arena: FrameArena,
  frame: Buffer,
  kind: number,
  id: number,
  trace: TraceContext,
): Buffer {
  const body = frame.subarray(headerBytes);
  const field = Buffer.alloc(runBytes(traceBytes));
  field[0] = traceRun;
  field[1] = traceBytes;
  field.write(trace.traceId, 2, 'hex');
  field.write(trace.spanId, 2 + traceIdBytes, 'hex');
  field[field.length - 1] = isSampled;
  try {
    const traced = arena.frame(kind, id, Buffer.concat([body, field]));
    arena.released(frame);
    return traced;
  } catch (error) {
    if (error instanceof LockstepError && error.code === 'TooLarge') return frame;
    throw error;
  }
}

/** The trace context in a field; undefined for one that this version does not understand. */
export function traceOf(field: Uint8Array): TraceContext | undefined {
  if (field.length < traceBytes || ((field[traceBytes - 1] ?? 0) & isSampled) === 0) return undefined;
  const hex = Buffer.from(field.buffer, field.byteOffset, traceBytes).toString('hex');
  return { traceId: hex.slice(0, 2 * traceIdBytes), spanId: hex.slice(2 * traceIdBytes, 48) };
}

/** The frame of an Object that describes the object instead of sending it. */
export function encodeDescription(
  arena: FrameArena,
  kind: number,
  id: number,
  { bytes, digest }: Description,
): Buffer {
  let at = arena.begin(1 + varintBytes(bytes) + runBytes(digest.length));
  const { buffer } = arena;
  buffer[at++] = secondVarint;
  at = writeVarint(buffer, at, bytes);
  return arena.finish(kind, id, writeRun(buffer, at, thirdRun, digest));
}

/** The body of an Object that is of the version that the asker holds. */
export const sameBody = Buffer.from([fourthVarint, 1]);
const same: ObjectReply = { kind: 'object', object: undefined, same: true };

/** Decodes an Object: the object, its description, that it is the asker's, or nothing. Throws `FrameError`. */
export function decodeObjectReply(body: Buffer): ObjectReply {
  const cursor = new ProtobufCursor(body);
  let object: Buffer | undefined;
  let bytes: number | undefined;
  let digest: Buffer | undefined;
  let isSame = false;
  for (let tag = cursor.tag(); tag !== 0; tag = cursor.tag()) {
    if (tag === firstRun) object = cursor.run();
    else if (tag === secondVarint) bytes = cursor.varint();
    else if (tag === thirdRun) digest = cursor.run();
    else if (tag === fourthVarint) isSame = cursor.varint() !== 0;
    else cursor.skip(tag);
  }
  if (isSame && object === undefined && bytes === undefined && digest === undefined) return same;
  if (bytes === undefined && digest === undefined) return { kind: 'object', object };
  if (bytes === undefined || digest?.length !== digestBytes || object !== undefined)
    throw new FrameError('type', 'a description of an object that is not whole');
  // The caller keeps the digest until the other replicas have answered, so it is copied.
  return { kind: 'object', object, described: { bytes, digest: Buffer.from(digest) } };
}

/**
 * The object in an Object or a Coordinated, or the bytes of another message with one field of bytes; undefined if
 * absent.
 */
export function decodeObjectBody(body: Buffer): Buffer | undefined {
  const cursor = new ProtobufCursor(body);
  let object: Buffer | undefined;
  for (let tag = cursor.tag(); tag !== 0; tag = cursor.tag()) {
    if (tag === firstRun) object = cursor.run();
    else cursor.skip(tag);
  }
  return object;
}

/** The body of a Written whose object is the only one that the key holds at the receiver. */
export const soleBody = Buffer.from([firstVarint, 1]);

/** Whether a Written states that. Throws `FrameError`. */
export function isSole(body: Buffer): boolean {
  if (body.length === 0) return false;
  // Nearly every answer to a plain SET is this one.
  if (body.length === 2 && body[0] === firstVarint && body[1] === 1) return true;
  const cursor = new ProtobufCursor(body);
  let sole = false;
  for (let tag = cursor.tag(); tag !== 0; tag = cursor.tag()) {
    if (tag === firstVarint) sole = cursor.varint() !== 0;
    else cursor.skip(tag);
  }
  return sole;
}

/** The error for a required field that is absent. */
export function missing(field: string): FrameError {
  return new FrameError('type', `the required field ${field} is missing`);
}

function keyedBytes(key: PackedKey): number {
  return runBytes(key.length) + 5;
}

function writeKeyed(buffer: Buffer, start: number, key: PackedKey, token: Token): number {
  let at = writeRunHeader(buffer, start, firstRun, key.length);
  at += buffer.write(key, at, 'latin1');
  buffer[at++] = secondFixed32;
  return buffer.writeUInt32LE(token, at);
}

function runBytes(length: number): number {
  return 1 + varintBytes(length) + length;
}

function writeRunHeader(buffer: Buffer, at: number, tag: number, length: number): number {
  buffer[at] = tag;
  return writeVarint(buffer, at + 1, length);
}

function writeRun(buffer: Buffer, at: number, tag: number, bytes: Uint8Array): number {
  const start = writeRunHeader(buffer, at, tag, bytes.length);
  buffer.set(bytes, start);
  return start + bytes.length;
}
