/**
 * The digest of a run: a streamed SHA-256 over everything that happened. Records are collected in a buffer of 64 KiB,
 * written as whole words, and hashed when the buffer is full. A record thus costs some ten nanoseconds and its bytes.
 *
 * Record: f64 a | f64 b | f64 instant | u32 tag | u32 length of what follows | bytes, padded to eight. Words are in the
 * machine's order (little-endian on everything that Node.js is built for today, except s390x).
 */
import { createHash } from 'node:crypto';

const bufferBytes = 65_536;
const headBytes = 32;

/** A digest under construction. */
export class Digest {
  readonly #hash = createHash('sha256');
  readonly #buffer = Buffer.from(new ArrayBuffer(bufferBytes));
  readonly #doubles = new Float64Array(this.#buffer.buffer);
  readonly #words = new Uint32Array(this.#buffer.buffer);
  #at = 0;

  /** Adds a record. `tag` is an unsigned 32-bit integer. */
  add(atUs: number, tag: number, a: number, b: number, bytes?: Uint8Array): void {
    const length = bytes === undefined ? 0 : bytes.length;
    if (this.#at + headBytes + length + 8 > bufferBytes) this.#flush();
    const at = this.#at >>> 3;
    this.#doubles[at] = a;
    this.#doubles[at + 1] = b;
    this.#doubles[at + 2] = atUs;
    this.#words[at * 2 + 6] = tag;
    this.#words[at * 2 + 7] = length;
    this.#at += headBytes;
    if (bytes !== undefined) this.#addBytes(bytes);
  }

  /** Adds a text: a separate record with its UTF-8 bytes. */
  addText(atUs: number, tag: number, text: string): void {
    this.add(atUs, tag, text.length, 0, Buffer.from(text, 'utf8'));
  }

  /** SHA-256 of all records so far, in hex. More may be added afterwards. */
  hex(): string {
    this.#flush();
    return this.#hash.copy().digest('hex');
  }

  #addBytes(bytes: Uint8Array): void {
    if (this.#at + bytes.length + 8 > bufferBytes) {
      this.#flush();
      this.#hash.update(bytes);
      return;
    }
    this.#buffer.set(bytes, this.#at);
    const end = this.#at + bytes.length;
    this.#at = (end + 7) & ~7;
    for (let at = end; at < this.#at; at++) this.#buffer[at] = 0;
  }

  #flush(): void {
    if (this.#at > 0) this.#hash.update(this.#buffer.subarray(0, this.#at));
    this.#at = 0;
  }
}
