/**
 * Frames: how messages are laid out in a connection's byte stream. Integers are big-endian.
 *
 *      0        3   4    5          8    12       16         20      24
 *     +--------+---+----+----------+----+--------+----------+-------+--------//--+
 *     | "LSP"  |ver|kind| 0  0  0  | id | length | body crc | check |    body    |
 *     +--------+---+----+----------+----+--------+----------+-------+--------//--+
 *
 * `id` ties an answer to its request. `length` is the body's. `body crc` is the CRC-32 of the body (0 for an empty
 * one). `check` guards the five words before it, so that a damaged length is detected at once, not after waiting for
 * that many bytes.
 *
 * The order of the checks tells damage from disagreement. First come magic and version (`version`), then the header's
 * check (`crc`). Only then, over words that are as they were sent, come kind (`type`) and length (`length`). Magic,
 * version and their places never change, so all versions can tell each other apart.
 *
 * Decoded bodies are views of the chunks given to the decoder. A view keeps its whole chunk alive, so a caller that
 * keeps a body beyond the handling of its frame must copy it.
 */
import { assert, failAssertion } from '../../base/assert.ts';
import { putU32, u32At } from '../../base/big-endian.ts';
import { crc32Between } from '../../base/checksum.ts';
import { LockstepError } from '../../base/errors.ts';
import { bufferOf } from '../../base/ids.ts';
import { isKnownKind } from './kinds.ts';
import { wireVersion } from './messages.ts';

/** Bytes of a frame's header. */
export const headerBytes = 24;
const magic = 0x4c5350;
const firstWord = ((magic << 8) | wireVersion) >>> 0;

/** Why a frame was rejected: the label of the counter. */
export type FrameFault = 'crc' | 'length' | 'version' | 'type';

/** All faults. */
export const frameFaults: readonly FrameFault[] = ['crc', 'length', 'version', 'type'];

/**
 * Thrown for bytes that are no frame, or a frame that is no message (code `FrameInvalid`). The connection that sent
 * them is of no more use.
 */
export class FrameError extends LockstepError {
  readonly fault: FrameFault;

  constructor(fault: FrameFault, detail: string, options?: ErrorOptions) {
    super('FrameInvalid', detail, options);
    this.fault = fault;
  }
}

/** The limit that a decoder and an arena enforce. */
export interface FrameLimits {
  /** The most bytes of one frame, including the header. */
  readonly frameBytesMax: number;
}

/** A decoded frame. */
export interface Frame {
  readonly kind: number;
  /** 0 to 2^32 - 1. */
  readonly id: number;
  /** A view of the received bytes (see the header comment). */
  readonly body: Buffer;
}

/** Writes the header of the frame at `at`, whose body of `bodyBytes` was written behind it. */
export function sealFrame(buffer: Buffer, at: number, kind: number, id: number, bodyBytes: number): void {
  const bodyAt = at + headerBytes;
  if (bodyBytes < 0 || bodyAt + bodyBytes > buffer.length)
    failAssertion('a frame is within its buffer', at, bodyBytes, buffer.length);
  const crc = crc32Between(buffer, bodyAt, bodyAt + bodyBytes);
  const second = (kind << 24) >>> 0;
  putU32(buffer, at, firstWord);
  putU32(buffer, at + 4, second);
  putU32(buffer, at + 8, id);
  putU32(buffer, at + 12, bodyBytes);
  putU32(buffer, at + 16, crc);
  putU32(buffer, at + 20, headerCheck(firstWord, second, id, bodyBytes, crc));
}

/** A frame in memory of its own, for a frame that is sent again and again. */
export function lastingFrame(kind: number, id: number, body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafeSlow(headerBytes + body.length);
  frame.set(body, headerBytes);
  sealFrame(frame, 0, kind, id, body.length);
  return frame;
}

/**
 * Decodes frames from a byte stream in arbitrary chunks: `push` a chunk, then call `next` until it returns undefined. A
 * frame within one chunk is a view of it; a frame across chunks is copied together once. After a `FrameError` the
 * decoder only throws that error again.
 */
export class FrameDecoder {
  readonly #bodyBytesMax: number;
  /** A header across chunks; allocated at the first one. */
  #header: Buffer | undefined;
  #headerFilled = 0;
  #inBody = false;
  #kind = 0;
  #id = 0;
  #bodyBytes = 0;
  #bodyCrc = 0;
  #assembly: Assembly | undefined;
  #chunk: Buffer = noBytes;
  #at = 0;
  #error: FrameError | undefined;

  constructor(limits: FrameLimits) {
    assert(limits.frameBytesMax >= headerBytes, 'a frame has room for its header');
    this.#bodyBytesMax = limits.frameBytesMax - headerBytes;
  }

  /** Adds the next bytes. `next` must have consumed those before. The decoder keeps the view. */
  push(chunk: Uint8Array): void {
    if (this.#error !== undefined) return;
    assert(this.#at === this.#chunk.length, 'a chunk is decoded before the next one comes');
    this.#chunk = bufferOf(chunk);
    this.#at = 0;
  }

  /** The next whole frame; undefined if more bytes are needed. Throws `FrameError`. */
  next(): Frame | undefined {
    if (this.#error !== undefined) throw this.#error;
    if (!this.#inBody && !this.#readHeader()) return undefined;
    const body = this.#readBody();
    if (body === undefined) return undefined;
    this.#inBody = false;
    if (body.length !== this.#bodyBytes || this.#at > this.#chunk.length)
      failAssertion('a body has the length of its header', this.#bodyBytes, body.length);
    if (crc32Between(body, 0, body.length) !== this.#bodyCrc) {
      throw this.#fail('crc', `the body of frame ${this.#id} does not match its checksum`);
    }
    return { kind: this.#kind, id: this.#id, body };
  }

  /** The stream has ended in order. Throws `FrameError` if it ended inside a frame. */
  end(): void {
    if (this.#error !== undefined) throw this.#error;
    if (this.#inBody) {
      const filled = this.#assembly?.filled ?? 0;
      throw this.#fail('length', `the stream ended after ${filled} of a body's ${this.#bodyBytes} bytes`);
    }
    if (this.#headerFilled === 0) return;
    throw this.#fail(
      'length',
      `the stream ended after ${this.#headerFilled} of a header's ${headerBytes} bytes`,
    );
  }

  #readHeader(): boolean {
    const left = this.#chunk.length - this.#at;
    // Most chunks end with a frame, so a silent connection keeps no chunk alive.
    if (left === 0) {
      this.#chunk = noBytes;
      this.#at = 0;
      return false;
    }
    if (this.#headerFilled === 0 && left >= headerBytes) {
      this.#parseHeader(this.#chunk, this.#at);
      this.#at += headerBytes;
      return true;
    }
    const header = (this.#header ??= Buffer.alloc(headerBytes));
    const count = this.#chunk.copy(header, this.#headerFilled, this.#at);
    this.#at += count;
    this.#headerFilled += count;
    if (this.#headerFilled < headerBytes) return false;
    this.#headerFilled = 0;
    this.#parseHeader(header, 0);
    return true;
  }

  #parseHeader(bytes: Buffer, at: number): void {
    const first = u32At(bytes, at);
    if (first !== firstWord) throw this.#fail('version', describeFirstWord(first));
    const second = u32At(bytes, at + 4);
    this.#id = u32At(bytes, at + 8);
    this.#bodyBytes = u32At(bytes, at + 12);
    this.#bodyCrc = u32At(bytes, at + 16);
    const check = headerCheck(first, second, this.#id, this.#bodyBytes, this.#bodyCrc);
    if (check !== u32At(bytes, at + 20)) throw this.#fail('crc', "a frame's header does not match its check");
    this.#kind = second >>> 24;
    if ((second & 0xffffff) !== 0) throw this.#fail('type', 'the reserved bytes of a header are not zero');
    if (!isKnownKind(this.#kind)) throw this.#fail('type', `frames of kind ${this.#kind} are not known`);
    this.#checkLength();
    this.#inBody = true;
  }

  #checkLength(): void {
    if (this.#bodyBytes > this.#bodyBytesMax) {
      const limit = this.#bodyBytesMax + headerBytes;
      throw this.#fail(
        'length',
        `a frame of ${this.#bodyBytes + headerBytes} bytes; at most ${limit} are allowed`,
      );
    }
    if (this.#bodyBytes === 0 && this.#bodyCrc !== 0) throw this.#fail('crc', 'an empty body has a checksum');
  }

  #readBody(): Buffer | undefined {
    if (this.#bodyBytes === 0) return noBytes;
    const start = this.#at;
    const left = this.#chunk.length - start;
    if (this.#assembly === undefined && left >= this.#bodyBytes) {
      this.#at = start + this.#bodyBytes;
      return this.#chunk.subarray(start, this.#at);
    }
    this.#assembly ??= new Assembly(this.#bodyBytes);
    this.#at += this.#assembly.append(this.#chunk, start);
    if (!this.#assembly.complete) return undefined;
    const body = this.#assembly.bytes;
    this.#assembly = undefined;
    return body;
  }

  #fail(fault: FrameFault, detail: string): FrameError {
    this.#error = new FrameError(fault, detail);
    this.#chunk = noBytes;
    this.#at = 0;
    this.#assembly = undefined;
    return this.#error;
  }
}

const noBytes = Buffer.alloc(0);
const assemblyBytesMin = 64 * 1024;

/** A body across chunks. Grows by doubling with what arrives, never ahead of it because of what a header states. */
class Assembly {
  readonly #total: number;
  #buffer: Buffer;
  filled = 0;

  constructor(total: number) {
    this.#total = total;
    this.#buffer = Buffer.allocUnsafe(Math.min(total, assemblyBytesMin));
  }

  get complete(): boolean {
    return this.filled === this.#total;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.filled);
  }

  /** Copies what it needs of `chunk` from `start` on, and returns how many bytes that were. */
  append(chunk: Buffer, start: number): number {
    const count = Math.min(chunk.length - start, this.#total - this.filled);
    const needed = this.filled + count;
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.#total, Math.max(needed, this.#buffer.length * 2)));
      this.#buffer.copy(grown, 0, 0, this.filled);
      this.#buffer = grown;
    }
    chunk.copy(this.#buffer, this.filled, start, start + count);
    this.filled = needed;
    return count;
  }
}

/**
 * Guards the header. For a given word each step maps the state one to one, and for a given state the word one to one.
 * So damage within one word is always detected, and other damage is missed once in 2^32. (A CRC-32 through zlib detects
 * no more and costs 90 ns for these 20 bytes; this costs 5.)
 */
function headerCheck(first: number, second: number, id: number, length: number, crc: number): number {
  let state = Math.imul(first ^ 0x9e3779b9, 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 15) ^ second, 0xc2b2ae35);
  state = Math.imul(state ^ (state >>> 15) ^ id, 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 15) ^ length, 0xc2b2ae35);
  state = Math.imul(state ^ (state >>> 15) ^ crc, 0x85ebca6b);
  return (state ^ (state >>> 16)) >>> 0;
}

function describeFirstWord(word: number): string {
  if (word >>> 8 !== magic) return `a frame begins with ${word.toString(16).padStart(8, '0')}, not with LSP`;
  return `frames of wire version ${word & 0xff}; this node speaks version ${wireVersion}`;
}
