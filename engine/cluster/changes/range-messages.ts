/**
 * The payloads of a transfer: a request for a range from a cursor on, and an answer with its objects.
 *
 * A range is the tokens after `from` up to and including `to`, across zero if need be (`from` = `to`: all tokens). Its
 * objects come in the order of (distance from `from`, key). A cursor names the last object that was sent.
 */
import type { ByteReader } from '../../base/bytes.ts';
import { ByteWriter, BytesError } from '../../base/bytes.ts';
import { mustDecodeWhole } from '../../base/decoding.ts';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { unpackKey } from '../../base/object-key.ts';
import type { TokenRange } from '../ring/arc.ts';

/**
 * A position in a range: every token before `token` was sent, and of this token's keys those up to and including `key`.
 */
export interface Cursor {
  readonly token: Token;
  readonly key: PackedKey;
}

/** A request for the next objects of a range. */
export interface RangeRequest extends TokenRange {
  readonly after: Cursor | undefined;
  /** Bytes of objects that the answer aims at; one object may exceed them. */
  readonly bytesMax: number;
  /**
   * The range is answered as it is, although records of it may be lost. Of a node that reads several replicas of the
   * range, since it has lost records itself.
   */
  readonly asIs: boolean;
}

/** An object in a transfer. `bytes`: the encoded object. */
export interface MovedObject {
  readonly key: PackedKey;
  readonly token: Token;
  readonly bytes: Uint8Array;
}

/** The next objects of a range. */
export interface RangeAnswer {
  readonly objects: readonly MovedObject[];
  /** Where to continue; undefined at the end of the range. */
  readonly next: Cursor | undefined;
}

const objectBytesMin = 10;

/** Encodes a request. */
export function encodeRangeRequest({ from, to, after, bytesMax, asIs }: RangeRequest): Buffer {
  const writer = new ByteWriter(64);
  writer.u32(from).u32(to).u32(bytesMax);
  writeCursor(writer, after);
  // Builds that do not know the flag answer such a request with `BadRequest`.
  if (asIs) writer.u8(1);
  return writer.finish();
}

/** Decodes a request. Throws `BadRequest` for anything but what `encodeRangeRequest` wrote. */
export function decodeRangeRequest(words: Uint8Array): RangeRequest {
  return mustDecodeWhole('a transfer request', words, (reader) => {
    const from = reader.u32() as Token;
    const to = reader.u32() as Token;
    const bytesMax = reader.u32();
    const after = readCursor(reader);
    return { from, to, bytesMax, after, asIs: reader.left > 0 && reader.u8() === 1 };
  });
}

/** Encodes an answer. */
export function encodeRangeAnswer({ objects, next }: RangeAnswer): Buffer {
  const writer = new ByteWriter(
    objects.reduce((sum, { key, bytes }) => sum + key.length + bytes.length + 16, 64),
  );
  writer.varint(objects.length);
  for (const { key, token, bytes } of objects) writer.string(key).u32(token).bytes(bytes);
  return writeCursor(writer, next).finish();
}

/**
 * Decodes an answer; the objects are views of the payload. Throws `BadRequest` for anything but what
 * `encodeRangeAnswer` wrote.
 */
export function decodeRangeAnswer(words: Uint8Array): RangeAnswer {
  return mustDecodeWhole('a transfer', words, (reader) => {
    const count = reader.varint();
    if (count > reader.left / objectBytesMin) throw new BytesError(`a transfer of ${count} objects`);
    const objects = Array.from({ length: count }, () => readObject(reader));
    return { objects, next: readCursor(reader) };
  });
}

function readObject(reader: ByteReader): MovedObject {
  const key = reader.string() as PackedKey;
  if (unpackKey(key) === undefined) throw new BytesError('a key is not in its packed form');
  return { key, token: reader.u32() as Token, bytes: reader.bytes() };
}

function writeCursor(writer: ByteWriter, cursor: Cursor | undefined): ByteWriter {
  writer.u8(cursor === undefined ? 0 : 1);
  if (cursor !== undefined) writer.u32(cursor.token).string(cursor.key);
  return writer;
}

function readCursor(reader: ByteReader): Cursor | undefined {
  if (reader.u8() === 0) return undefined;
  const token = reader.u32() as Token;
  return { token, key: reader.string() as PackedKey };
}
