/**
 * The payloads of `readMany` and of its answer: the keys of independent reads, and what the replica holds of each.
 *
 *     request   varint count, then per read its key, token (u32), and the version that the asker holds (a run of bytes)
 *     answer    one byte a read: 0 failed, 1 no object, 2 an object, 3 an object of the version that the asker holds,
 *               4 not answered here
 *               then, in their order, per failure varint code and text, and per object its bytes
 *
 * The version is the front part of the asker's own object (`versionLength`); empty if the asker holds none, or if it
 * would save too little. A read is "not answered here" if its answer must wait for something, or would make the message
 * too large: the asker reads that key by itself.
 */
import { ByteReader, ByteWriter, BytesError, runBytes } from '../base/bytes.ts';
import type { ErrorCode } from '../base/errors.ts';
import { errorCodes } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import { versionLength } from '../replica/object/object.ts';

/** Most bytes of the objects of one answer; the asker reads the others by themselves. */
export const answerBytesMax = 256 * 1024;

/** One read of a message. */
export interface AskedRead {
  readonly key: PackedKey;
  readonly token: Token;
  /** The version that the asker holds; empty for none. */
  readonly version: Uint8Array;
}

/** What a replica answers to one read of a message. */
export type FoundObject =
  | { readonly kind: 'object'; readonly bytes: Uint8Array | undefined }
  | { readonly kind: 'same' | 'unanswered' }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };

/** An object of the version that the asker holds. */
export const sameObjectFound: FoundObject = { kind: 'same' };
/** The replica does not answer the read within the message. */
export const unanswered: FoundObject = { kind: 'unanswered' };

const failedMark = 0;
const absentMark = 1;
const objectMark = 2;
const sameMark = 3;
const unansweredMark = 4;
/** The most characters of a failure's text that are sent. */
const detailCharsMax = 256;
/** Longer versions are not sent. */
const versionBytesMax = 256;
/** The bytes of a read with an empty key and no version. */
const readBytesMin = 6;

/** The version to send for an object that the asker holds; undefined if all of the object would cost little more. */
export function versionToSend(bytes: Uint8Array): Uint8Array | undefined {
  const length = versionLength(bytes);
  if (length === 0 || length > versionBytesMax || length * 2 > bytes.length) return undefined;
  return bytes.subarray(0, length);
}

/** Whether an object is of a version that `versionToSend` returned. */
export function isOfVersion(bytes: Uint8Array, version: Uint8Array): boolean {
  if (version.length === 0 || bytes.length < version.length) return false;
  for (let at = 0; at < version.length; at++) if (bytes[at] !== version[at]) return false;
  return true;
}

/** The payload of a request. */
export function encodeReads(reads: readonly AskedRead[]): Uint8Array {
  let bytes = 4;
  for (const { key, version } of reads) bytes += runBytes(key.length) + runBytes(version.length) + 4;
  const writer = new ByteWriter(bytes);
  writer.varint(reads.length);
  for (const { key, token, version } of reads) writer.string(key).u32(token).bytes(version);
  return writer.finish();
}

/**
 * Decodes the payload of a request; the versions are views into `words`. Throws `BytesError` if it is malformed or
 * empty.
 */
export function decodeReads(words: Uint8Array): readonly AskedRead[] {
  const reader = new ByteReader(words);
  const count = reader.varint();
  if (count === 0 || count > reader.left / readBytesMin) throw new BytesError(`a message of ${count} reads`);
  const reads: AskedRead[] = [];
  for (let index = 0; index < count; index++) {
    const key = reader.string() as PackedKey;
    if (unpackKey(key) === undefined) throw new BytesError('a malformed key');
    reads.push({ key, token: reader.u32() as Token, version: reader.bytes() });
  }
  reader.end();
  return reads;
}

/** Collects what a replica answers to the reads of one message. */
export class FoundObjects {
  readonly #marks: Buffer;
  readonly #runs: (Uint8Array | undefined)[];
  #codes: (ErrorCode | undefined)[] | undefined;
  #bytes = 0;
  #left: number;

  constructor(count: number) {
    this.#marks = Buffer.alloc(count);
    this.#runs = new Array<Uint8Array | undefined>(count).fill(undefined);
    this.#left = count;
  }

  /** Notes the answer to a read, once for each. Returns whether it was the last one. */
  note(index: number, found: FoundObject): boolean {
    switch (found.kind) {
      case 'same':
        this.#marks[index] = sameMark;
        break;
      case 'unanswered':
        this.#marks[index] = unansweredMark;
        break;
      case 'failed':
        this.#marks[index] = failedMark;
        this.#codes ??= [];
        this.#codes[index] = found.code;
        this.#runs[index] = Buffer.from(found.message.slice(0, detailCharsMax));
        break;
      case 'object':
        this.#noteObject(index, found.bytes);
    }
    this.#left -= 1;
    return this.#left === 0;
  }

  /** The payload of the answer. */
  encode(): Uint8Array {
    if (this.#bytes === 0 && this.#codes === undefined) return this.#marks;
    const writer = new ByteWriter(this.#marks.length + this.#bytes + (this.#codes === undefined ? 0 : 1024));
    writer.raw(this.#marks);
    for (let index = 0; index < this.#runs.length; index++) {
      const run = this.#runs[index];
      if (run === undefined) continue;
      const code = this.#codes?.[index];
      if (code !== undefined) writer.varint(errorCodes.indexOf(code));
      writer.bytes(run);
    }
    return writer.finish();
  }

  #noteObject(index: number, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) {
      this.#marks[index] = absentMark;
      return;
    }
    const size = runBytes(bytes.length);
    if (this.#bytes + size > answerBytesMax) {
      this.#marks[index] = unansweredMark;
      return;
    }
    this.#marks[index] = objectMark;
    this.#runs[index] = bytes;
    this.#bytes += size;
  }
}

/**
 * Decodes the answer to a message of `count` reads, and calls `found` for each in their order; objects are views into
 * `words`. Throws `BytesError`, perhaps after some of the calls.
 */
export function decodeFound(
  words: Uint8Array,
  count: number,
  found: (index: number, object: FoundObject) => void,
): void {
  const reader = new ByteReader(words);
  const marks = reader.raw(count);
  for (let index = 0; index < count; index++) found(index, readFound(reader, marks[index]));
  reader.end();
}

const absent: FoundObject = { kind: 'object', bytes: undefined };

function readFound(reader: ByteReader, mark: number | undefined): FoundObject {
  switch (mark) {
    case absentMark:
      return absent;
    case objectMark:
      return { kind: 'object', bytes: reader.bytes() };
    case sameMark:
      return sameObjectFound;
    case unansweredMark:
      return unanswered;
    case failedMark: {
      // A newer peer may send more codes, as in `failed` (peer/wire/codec.ts).
      const code = errorCodes[reader.varint()] ?? 'Internal';
      return { kind: 'failed', code, message: reader.bytes().toString() };
    }
    default:
      throw new BytesError(`an unknown answer to a read: ${mark}`);
  }
}
