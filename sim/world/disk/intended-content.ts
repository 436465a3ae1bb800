/**
 * A file as its writer believes it to be, from the first write on that went elsewhere (`misdirected-io`). Watchers
 * judge what a process meant to write: a misplaced write may destroy the head of a log, and with it every later record.
 */
import { grown } from './file-image.ts';

/** The bytes that one open file would hold if each write had gone where it was aimed. */
export class IntendedContent {
  #bytes: Buffer;
  #length: number;

  /** `before`: the file before its first misdirected write. The buffer is kept. */
  constructor(before: Buffer) {
    this.#bytes = before;
    this.#length = before.length;
  }

  /** Writes the first `count` bytes of `chunks` at `offset`. */
  write(chunks: readonly Uint8Array[], offset: number, count: number): void {
    const end = offset + count;
    if (end > this.#bytes.length) this.#bytes = grown(this.#bytes, this.#length, end);
    Buffer.concat(chunks).copy(this.#bytes, offset, 0, count);
    this.#length = Math.max(this.#length, end);
  }

  /** Cuts the file to `length` bytes, or lengthens it by zeros. */
  truncate(length: number): void {
    if (length > this.#bytes.length) this.#bytes = grown(this.#bytes, this.#length, length);
    if (length < this.#length) this.#bytes.fill(0, length, this.#length);
    this.#length = length;
  }

  /** The file up to `to`, or all of it. A view that must not be kept. */
  view(to: number = this.#length): Buffer {
    return this.#bytes.subarray(0, to);
  }
}
