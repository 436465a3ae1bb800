/**
 * Chunks of memory for outgoing frames, shared by all streams of a node. A stream takes a chunk when it has something
 * to send, and gives it back once everything in it was sent. So memory is proportional to what is under way, and a
 * silent stream holds none.
 */
import { assert } from '../../base/assert.ts';

/** A chunk of one arena. */
export class Chunk {
  readonly bytes: Buffer;
  /** Bytes written so far. */
  used = 0;
  /** Bytes among them that may still be read. */
  held = 0;
  free = false;

  constructor(chunkBytes: number) {
    // Allocates its own memory, so that the `buffer` of every view identifies the chunk.
    this.bytes = Buffer.allocUnsafeSlow(chunkBytes);
  }
}

/** The most bytes that are kept for reuse; further chunks go to the garbage collector. */
const freeBytesMax = 8 * 1024 * 1024;

/** The pool of chunks, one per node. */
export class ChunkPool {
  readonly #chunkBytes: number;
  readonly #free: Chunk[] = [];
  #allocated = 0;

  constructor(chunkBytes: number) {
    this.#chunkBytes = chunkBytes;
  }

  /** How many chunks exist, in use or free. */
  get allocated(): number {
    return this.#allocated;
  }

  /** How many chunks are free. */
  get free(): number {
    return this.#free.length;
  }

  /** A chunk with nothing written into it. */
  take(): Chunk {
    const reused = this.#free.pop();
    if (reused === undefined) this.#allocated += 1;
    const chunk = reused ?? new Chunk(this.#chunkBytes);
    chunk.used = 0;
    chunk.held = 0;
    chunk.free = false;
    return chunk;
  }

  /** Takes a chunk back. The caller must not read or write it any more. */
  give(chunk: Chunk): void {
    assert(!chunk.free, 'a chunk is given back once');
    chunk.free = true;
    if ((this.#free.length + 1) * this.#chunkBytes <= freeBytesMax) this.#free.push(chunk);
    else this.#allocated -= 1;
  }
}
