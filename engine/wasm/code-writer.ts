/** Writes a module's bytes: integers, runs of another's bytes, sections and vectors. Made for many short runs. */
import { op } from './opcodes.ts';

/** Longer runs are worth a call into the engine. */
const shortBytesMax = 24;

export class CodeWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacityBytes = 1024) {
    this.#bytes = new Uint8Array(capacityBytes);
  }

  get length(): number {
    return this.#length;
  }

  u8(value: number): this {
    if (this.#length === this.#bytes.length) this.#reserve(1);
    this.#bytes[this.#length++] = value;
    return this;
  }

  /** Unsigned LEB128. */
  u32(value: number): this {
    let rest = value;
    while (rest >= 0x80) {
      this.u8((rest & 0x7f) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    return this.u8(rest);
  }

  /** Signed LEB128 of 32 bits. */
  s32(value: number): this {
    let rest = value;
    for (;;) {
      const low = rest & 0x7f;
      rest >>= 7;
      if ((rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)) return this.u8(low);
      this.u8(low | 0x80);
    }
  }

  i32Const(value: number): this {
    return this.u8(op.i32Const).s32(value);
  }

  /** An instruction with an index: `local.get 3`. */
  indexed(code: number, index: number): this {
    return this.u8(code).u32(index);
  }

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

  append(other: CodeWriter, start = 0, end = other.#length): this {
    return this.copy(other.#bytes, start, end);
  }

  /** Length, then the bytes. */
  block(bytes: Uint8Array): this {
    return this.u32(bytes.length).copy(bytes);
  }

  section(id: number, contents: CodeWriter): this {
    return this.u8(id).u32(contents.length).append(contents);
  }

  /** Empty again; what was handed out before must not be used any more. */
  clear(): void {
    this.#length = 0;
  }

  /** The bytes, as a copy. */
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
