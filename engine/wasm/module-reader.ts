/**
 * Reads a module's bytes: fixed bytes, LEB128 integers in the widths that the format allows, names and vectors. Never
 * reads past its end. Malformed input throws `ModuleError` (WebAssembly 2.0, chapter 5).
 */
import { ModuleError } from './module-error.ts';

/** A reader of a range of bytes. Every method throws `ModuleError` if the bytes are malformed or too few. */
export class ModuleReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  #at: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.#at = start;
    this.end = end;
  }

  /** Offset of the next byte. */
  get at(): number {
    return this.#at;
  }

  /** Whether all bytes have been read. */
  get done(): boolean {
    return this.#at >= this.end;
  }

  /** The next byte without reading it; -1 at the end. */
  get next(): number {
    return this.done ? -1 : (this.bytes[this.#at] ?? -1);
  }

  /** One byte. */
  u8(): number {
    if (this.#at >= this.end) this.fail('the bytes end too soon');
    return this.bytes[this.#at++] ?? 0;
  }

  /** An unsigned LEB128 integer of at most 32 bits. */
  u32(): number {
    const first = this.u8();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      const byte = this.u8();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    const last = this.u8();
    if (last > 0x0f) this.fail('an integer exceeds 32 bits');
    return (value | (last << 28)) >>> 0;
  }

  /** A signed LEB128 integer of at most 33 bits: a block's type. */
  s33(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 5; count++) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      scale *= 0x80;
      if (byte < 0x80) return (byte & 0x40) === 0 ? value : value - scale;
    }
    return this.fail('an integer exceeds 33 bits');
  }

  /** Skips a signed integer of at most `byteCountMax` bytes (5 for 32 bits, 10 for 64). */
  skipSigned(byteCountMax: number): void {
    for (let count = 0; count < byteCountMax; count++) if (this.u8() < 0x80) return;
    this.fail('an integer is too long');
  }

  /** Skips bytes. */
  skip(count: number): void {
    if (count > this.end - this.#at) this.fail('the bytes end too soon');
    this.#at += count;
  }

  /** The length of a vector, at most `max`; `what` names its items in the error. */
  count(max: number, what: string): number {
    const at = this.#at;
    const count = this.u32();
    if (count > max) throw new ModuleError(`${count} ${what}; allowed: at most ${max}`, at);
    return count;
  }

  /** A name of at most `bytesMax` bytes of UTF-8. */
  text(bytesMax: number): string {
    const length = this.count(bytesMax, 'bytes of a name');
    const start = this.#at;
    this.skip(length);
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(this.bytes.subarray(start, this.#at));
    } catch {
      throw new ModuleError('a name is not UTF-8', start);
    }
  }

  /** A reader of the next `length` bytes, which this reader skips. */
  part(length: number): ModuleReader {
    const start = this.#at;
    this.skip(length);
    return new ModuleReader(this.bytes, start, this.#at);
  }

  /** Throws unless all bytes have been read. */
  finish(what: string): void {
    if (!this.done) this.fail(`${what} has ${this.end - this.#at} bytes too many`);
  }

  /** Throws `ModuleError` at the current offset. */
  fail(problem: string): never {
    throw new ModuleError(problem, this.#at);
  }
}
