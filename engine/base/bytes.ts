/**
 * Reads and writes the product's own binary formats: stored records, objects, causal contexts.
 *
 * Integers are big-endian or unsigned LEB128 (`varint`); a run of bytes is preceded by its length. A reader never reads
 * past its bytes. Malformed input throws `BytesError`, which the format built on top turns into its own typed error.
 */
import type { ByteString } from './ids.ts';
import { bufferOf } from './ids.ts';
import type { NameTable } from './name-table.ts';

/** Thrown by `ByteReader` when the bytes do not match the format: too short, too long or not in canonical form. */
export class BytesError extends Error {
  override readonly name = 'BytesError';
}

/** Above this length one native call is faster than a loop in JavaScript. */
const shortCharsMax = 32;

/** The largest number that V8's integer arithmetic holds; the remainder of a larger one is a call out of JavaScript. */
const intMax = 0x7fffffff;
/** Payload bits of half a varint: four of its at most eight bytes, seven bits each. */
const halfBits = 28;
const halfUnit = 0x10000000;

/** Encoded size of `value` as a varint, in bytes: 1 to 8. */
export function varintBytes(value: number): number {
  let bytes = 1;
  let rest = value;
  if (value > intMax) {
    rest = Math.floor(value / halfUnit);
    bytes += 4;
  }
  for (; rest >= 0x80; rest >>>= 7) bytes += 1;
  return bytes;
}

/** Encoded size in bytes of a run of `length` bytes with its varint length in front. */
export function runBytes(length: number): number {
  return varintBytes(length) + length;
}

/**
 * A growing byte buffer; its methods are chainable. `finish` returns a view without copying; the writer must not be
 * used after it.
 */
export class ByteWriter {
  #buffer: Buffer;
  #length = 0;

  /** `capacityBytes`: initial size. The buffer doubles when it is full. */
  constructor(capacityBytes = 256) {
    this.#buffer = Buffer.allocUnsafe(capacityBytes);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  /** One byte: the low 8 bits of `value`. */
  u8(value: number): this {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
    return this;
  }

  /** A whole number 0..2^16-1, big-endian. Throws `RangeError` for others. */
  u16(value: number): this {
    this.#reserve(2);
    this.#length = this.#buffer.writeUInt16BE(value, this.#length);
    return this;
  }

  /** A whole number 0..2^32-1, big-endian. Throws `RangeError` for others. */
  u32(value: number): this {
    this.#reserve(4);
    this.#length = this.#buffer.writeUInt32BE(value, this.#length);
    return this;
  }

  /** A whole number 0..2^53-1 in eight bytes, big-endian. */
  u64(value: number): this {
    this.u32(Math.floor(value / 0x100000000));
    return this.u32(value % 0x100000000);
  }

  /** A whole number 0..2^53-1 as a varint: seven bits a byte, least significant first. */
  varint(value: number): this {
    if (value < 0x80) return this.u8(value);
    this.#reserve(8);
    const buffer = this.#buffer;
    let at = this.#length;
    let rest = value;
    if (value > intMax) {
      rest = Math.floor(value / halfUnit);
      const low = value - rest * halfUnit;
      for (let bits = 0; bits < halfBits; bits += 7) buffer[at++] = ((low >>> bits) & 0x7f) | 0x80;
    }
    for (; rest >= 0x80; rest >>>= 7) buffer[at++] = (rest & 0x7f) | 0x80;
    buffer[at++] = rest;
    this.#length = at;
    return this;
  }

  /** The bytes alone, without a length. */
  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  /** A varint length, then the bytes. */
  bytes(bytes: Uint8Array): this {
    return this.varint(bytes.length).raw(bytes);
  }

  /** A varint length, then one byte for each character of the byte string. */
  string(value: ByteString): this {
    this.varint(value.length);
    this.#reserve(value.length);
    if (value.length > shortCharsMax) {
      this.#length += this.#buffer.write(value, this.#length, 'latin1');
      return this;
    }
    const buffer = this.#buffer;
    const start = this.#length;
    for (let at = 0; at < value.length; at++) buffer[start + at] = value.charCodeAt(at);
    this.#length = start + value.length;
    return this;
  }

  /** The bytes written, as a view of the writer's buffer. */
  finish(): Buffer {
    const { length } = this.#buffer;
    return this.#length === length ? this.#buffer : this.#buffer.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Reads from the front of a run of bytes. Every method throws `BytesError` when too few bytes are left. */
export class ByteReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#buffer = bufferOf(bytes);
  }

  /** Bytes not yet read. */
  get left(): number {
    return this.#buffer.length - this.#at;
  }

  /** One byte. */
  u8(): number {
    const byte = this.#buffer[this.#at];
    if (byte === undefined) throw new BytesError('1 bytes expected, 0 left');
    this.#at += 1;
    return byte;
  }

  /** A big-endian 16-bit integer. */
  u16(): number {
    return this.#buffer.readUInt16BE(this.#take(2));
  }

  /** A big-endian 32-bit integer. */
  u32(): number {
    return this.#buffer.readUInt32BE(this.#take(4));
  }

  /** A big-endian 64-bit integer, at most 2^53-1; `BytesError` for a larger one. */
  u64(): number {
    const high = this.u32();
    if (high > 0x1fffff) throw new BytesError('a whole number exceeds 2^53-1');
    return high * 0x100000000 + this.u32();
  }

  /** A varint, at most 2^53-1 and in its shortest form; `BytesError` for any other. */
  varint(): number {
    const only = this.#buffer[this.#at];
    if (only !== undefined && only < 0x80) {
      this.#at += 1;
      return only;
    }
    // Two halves, each of which fits into integer arithmetic.
    let low = 0;
    let high = 0;
    for (let bits = 0; bits < 2 * halfBits; bits += 7) {
      const byte = this.u8();
      if (bits < halfBits) low |= (byte & 0x7f) << bits;
      else high |= (byte & 0x7f) << (bits - halfBits);
      if (byte >= 0x80) continue;
      // Each value has exactly one form, so equal objects have equal bytes.
      if (byte === 0 && bits > 0) throw new BytesError('a varint is not in its shortest form');
      const value = high * halfUnit + low;
      if (value > Number.MAX_SAFE_INTEGER) break;
      return value;
    }
    throw new BytesError('a varint exceeds 2^53-1');
  }

  /** A view of the next `length` bytes (not a copy). */
  raw(length: number): Buffer {
    const at = this.#take(length);
    return this.#buffer.subarray(at, at + length);
  }

  /** A view of a run that `ByteWriter.bytes` wrote (not a copy). */
  bytes(): Buffer {
    return this.raw(this.varint());
  }

  /** A byte string that `ByteWriter.string` wrote. */
  string(): ByteString {
    const length = this.varint();
    if (length === 0) return '' as ByteString;
    const at = this.#take(length);
    return this.#buffer.toString('latin1', at, at + length) as ByteString;
  }

  /** As `string`, for frequent names: `names` returns the same string object for equal bytes. */
  name(names: NameTable): ByteString {
    const length = this.varint();
    const at = this.#take(length);
    return names.get(this.#buffer, at, at + length);
  }

  /** Throws `BytesError` unless every byte has been read. */
  end(): void {
    if (this.left !== 0) throw new BytesError(`${this.left} bytes too many`);
  }

  #take(count: number): number {
    if (count > this.left) throw new BytesError(`${count} bytes expected, ${this.left} left`);
    const at = this.#at;
    this.#at += count;
    return at;
  }
}
