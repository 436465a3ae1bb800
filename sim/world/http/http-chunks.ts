/** Reads one body in chunks (RFC 9112, 7.1) from a queue of bytes. Skips extensions and trailers. */
import type { ByteQueue } from '../network/byte-queue.ts';
import { HttpRefusal } from './http-refusal.ts';

const lineBytesMax = 4096;

/** The reader of one chunked body. */
export class ChunkReader {
  readonly #received: ByteQueue;
  readonly #bytesMax: number;
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;
  #line = '';
  #state: 'size' | 'data' | 'dataEnd' | 'trailer' = 'size';
  #left = 0;

  constructor(received: ByteQueue, bytesMax: number) {
    this.#received = received;
    this.#bytesMax = bytesMax;
  }

  /** Bytes of the body that have been read so far. */
  get heldBytes(): number {
    return this.#bytes - this.#left;
  }

  /** The whole body once it has arrived; undefined before. Throws `HttpRefusal`. */
  read(): Buffer | undefined {
    for (;;) {
      if (this.#state === 'data') {
        if (!this.#readData()) return undefined;
        continue;
      }
      const line = this.#readLine();
      if (line === undefined) return undefined;
      if (this.#state === 'size') this.#begin(line);
      else if (this.#state === 'dataEnd') this.#state = 'size';
      else if (line === '') return Buffer.concat(this.#parts);
    }
  }

  #begin(line: string): void {
    const size = /^([0-9a-fA-F]{1,8})(;.*)?$/.exec(line)?.[1];
    if (size === undefined) throw new HttpRefusal(400, 'a chunk size is malformed');
    this.#left = Number.parseInt(size, 16);
    this.#bytes += this.#left;
    if (this.#bytes > this.#bytesMax)
      throw new HttpRefusal(400, `the body is longer than ${this.#bytesMax} bytes`);
    this.#state = this.#left === 0 ? 'trailer' : 'data';
  }

  #readData(): boolean {
    while (this.#left > 0 && this.#received.length > 0) {
      const part = this.#received.take(this.#left);
      this.#parts.push(part);
      this.#left -= part.length;
    }
    if (this.#left > 0) return false;
    this.#state = 'dataEnd';
    return true;
  }

  #readLine(): string | undefined {
    while (this.#received.length > 0) {
      const [byte = 0] = this.#received.take(1);
      if (byte === 0x0a) {
        const line = this.#line.replace(/\r$/, '');
        this.#line = '';
        return line;
      }
      this.#line += String.fromCharCode(byte);
      if (this.#line.length > lineBytesMax) throw new HttpRefusal(400, 'a line between chunks is too long');
    }
    return undefined;
  }
}
