/**
 * A queue of bytes in chunks: appended at one end, taken from the other in runs of any size. It copies only to join
 * chunks.
 */
export class ByteQueue {
  #chunks: Uint8Array[] = [];
  #head = 0;
  #length = 0;

  /** Bytes in the queue. */
  get length(): number {
    return this.#length;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** The next bytes, at most `lengthMax`; the queue must not be empty. */
  take(lengthMax: number): Uint8Array {
    const length = Math.min(lengthMax, this.#length);
    const first = this.#takeFromFirst(length);
    if (first.length === length) return first;
    const joined = Buffer.allocUnsafe(length);
    joined.set(first);
    for (let at = first.length; at < length;) {
      const next = this.#takeFromFirst(length - at);
      joined.set(next, at);
      at += next.length;
    }
    return joined;
  }

  clear(): void {
    this.#chunks = [];
    this.#head = 0;
    this.#length = 0;
  }

  #takeFromFirst(lengthMax: number): Uint8Array {
    const chunk = this.#chunks[this.#head] ?? new Uint8Array(0);
    if (chunk.length <= lengthMax) {
      this.#head += 1;
      this.#length -= chunk.length;
      this.#compact();
      return chunk;
    }
    this.#chunks[this.#head] = chunk.subarray(lengthMax);
    this.#length -= lengthMax;
    return chunk.subarray(0, lengthMax);
  }

  #compact(): void {
    if (this.#head === this.#chunks.length) this.#chunks.length = 0;
    else if (this.#head >= 256) this.#chunks.splice(0, this.#head);
    else return;
    this.#head = 0;
  }
}
