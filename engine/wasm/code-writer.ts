/**
 * Writes a module's bytes: integers, runs of another module's bytes, sections and vectors. Optimized for many short
 * runs.
 */
import { op } from './opcodes.ts';

/** Longer runs are copied by a native call. */
const shortBytesMax = 24;

/** A growing byte buffer; its methods are chainable. */
export class CodeWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacityBytes = 1024) {
    this.#bytes = new Uint8Array(capacityBytes);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  /** One byte. */
  u8(value: number): this {
    if (this.#length === this.#bytes.length) this.#reserve(1);
    this.#bytes[this.#length++] = value;
    return this;
  }

  /** An unsigned LEB128 integer of at most 32 bits. */
  u32(value: number): this {
    let rest = value;
    while (rest >= 0x80) {
      this.u8((rest & 0x7f) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    return this.u8(rest);
  }

  /** A signed LEB128 integer of 32 bits. */
  s32(value: number): this {
    let rest = value;
    for (;;) {
      const low = rest & 0x7f;
      rest >>= 7;
      if ((rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)) return this.u8(low);
      this.u8(low | 0x80);
    }
  }

  /** The instruction `i32.const`. */
  i32Const(value: number): this {
    return this.u8(op.i32Const).s32(value);
  }

  /** An instruction with an index, such as `local.get 3`. */
  indexed(code: number, index: number): this {
    return this.u8(code).u32(index);
  }

  /** The bytes from `start` (inclusive) to `end` (exclusive). */
  copy(bytes: Uint8Array, start = 0, end = bytes.length): this {
    const count = end - start;
    if (this.#length + count > this.#bytes.length) this.#reserve(count);
    if (count > shortBytesMax) {
      this.#bytes.set(bytes.subarray(start, end), this.#length);
      this.#length += count;
      return this;
    }
    for (let at = start; at < end; at++) this.#bytes[this.#length++] = bytes[at] ?? 0;
    return this;
  }

  /** Bytes of another writer. */
  append(other: CodeWriter, start = 0, end = other.#length): this {
    return this.copy(other.#bytes, start, end);
  }

  /** The length, then the bytes. */
  block(bytes: Uint8Array): this {
    return this.u32(bytes.length).copy(bytes);
  }

  /** A section with its id and length. */
  section(id: number, contents: CodeWriter): this {
    return this.u8(id).u32(contents.length).append(contents);
  }

  /** Empties the writer for reuse. */
  clear(): void {
    this.#length = 0;
  }

  /** A copy of the bytes written. */
  finish(): Buffer<ArrayBuffer> {
    return Buffer.from(this.#bytes.slice(0, this.#length).buffer);
  }

  #reserve(count: number): void {
    const grown = new Uint8Array(Math.max(this.#length + count, this.#bytes.length * 2));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

/** A vector of items, each written by `item`. */
export function vectorOf<T>(items: readonly T[], item: (writer: CodeWriter, value: T) => void): CodeWriter {
  const writer = new CodeWriter();
  writer.u32(items.length);
  for (const value of items) item(writer, value);
  return writer;
}
