/**
 * Chunks of memory for outgoing frames (the mbufs of the frame path), shared by all streams of a node: a chunk is taken
 * when a stream has something to send, and comes back once everything in it has left, so that memory follows what is
 * under way and not what was ever sent, and a silent stream holds none.
 */
import { assert } from '../../base/assert.ts';

/** A chunk in the hands of one arena. */
export class Chunk {
  readonly bytes: Buffer;
  /** Bytes written so far. */
  used = 0;
  /** Of them, bytes that somebody may still read. */
  held = 0;
  free = false;

  constructor(chunkBytes: number) {
    // Memory of its own: views of it lead back to it by their buffer.
    this.bytes = Buffer.allocUnsafeSlow(chunkBytes);
  }
}

/** Bytes kept for reuse at most; what comes back beyond them goes to the garbage collector. */
const freeBytesMax = 8 * 1024 * 1024;

export class ChunkPool {
  readonly #chunkBytes: number;
  readonly #free: Chunk[] = [];
  #allocated = 0;

  constructor(chunkBytes: number) {
    this.#chunkBytes = chunkBytes;
  }

  /** Chunks that exist, in use or free. */
  get allocated(): number {
    return this.#allocated;
  }

  /** Chunks that wait to be used again. */
  get free(): number {
    return this.#free.length;
  }

  take(): Chunk {
    const reused = this.#free.pop();
    if (reused === undefined) this.#allocated += 1;
    const chunk = reused ?? new Chunk(this.#chunkBytes);
    chunk.used = 0;
    chunk.held = 0;
    chunk.free = false;
    return chunk;
  }

  /** Takes a chunk back; nobody may read or write it any more. */
  give(chunk: Chunk): void {
    assert(!chunk.free, 'a chunk is given back once');
    chunk.free = true;
    if ((this.#free.length + 1) * this.#chunkBytes <= freeBytesMax) this.#free.push(chunk);
    else this.#allocated -= 1;
  }
}
