/**
 * Room for outgoing frames. Small frames are written side by side into chunks of a pool, so that the frames of one turn
 * leave as one run of bytes; a large one gets a buffer of its own size, which is none of the pool's.
 *
 * Whoever is done with a frame says so by `released`: the network door for what was written to it, the stream for what
 * never leaves. A chunk goes back to the pool when nothing of it is held any more, so an arena that has nothing under
 * way holds no chunk. `close` gives everything back, for a connection that is over.
 */
import { assert } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { BytesOwner } from '../../io/network.ts';
import type { Chunk } from './chunk-pool.ts';
import { ChunkPool } from './chunk-pool.ts';
import type { FrameLimits } from './frames.ts';
import { headerBytes, sealFrame } from './frames.ts';

export interface ArenaLimits extends FrameLimits {
  /** Bytes of one chunk at most. */
  readonly chunkBytes: number;
}

const noBytes = Buffer.alloc(0);

export class FrameArena implements BytesOwner {
  readonly #limits: ArenaLimits;
  readonly #pool: ChunkPool;
  /** The chunk that is written into. */
  #chunk: Chunk | undefined;
  /** Chunks that are full and not yet let go, by the memory that views of them lead to. */
  #full: Map<ArrayBufferLike, Chunk> | undefined;
  #buffer: Buffer = noBytes;
  #start = 0;

  /** Chunks of `pool` have `limits.chunkBytes`; left out, the arena has a pool of its own. */
  constructor(limits: ArenaLimits, pool = new ChunkPool(limits.chunkBytes)) {
    this.#limits = limits;
    this.#pool = pool;
  }

  /** The buffer that the frame begun last is written into. */
  get buffer(): Buffer {
    return this.#buffer;
  }

  /**
   * Begins a frame whose body has exactly `bodyBytes`; says where in `buffer` the body goes. Throws `TooLarge` when
   * the frame exceeds the limit; nothing has been begun then.
   */
  begin(bodyBytes: number): number {
    const bytes = headerBytes + bodyBytes;
    if (bytes > this.#limits.frameBytesMax) {
      const detail = `a frame of ${bytes} bytes; at most ${this.#limits.frameBytesMax} are allowed`;
      throw new LockstepError('TooLarge', detail);
    }
    this.#reserve(bytes);
    return this.#start + headerBytes;
  }

  /** Ends the frame begun last, whose body ends at `bodyEnd`, and gives its bytes. */
  finish(kind: number, id: number, bodyEnd: number): Buffer {
    sealFrame(this.#buffer, this.#start, kind, id, bodyEnd - this.#start - headerBytes);
    return this.#buffer.subarray(this.#start, bodyEnd);
  }

  /** A frame around bytes that lie elsewhere (copied). Throws `TooLarge`. */
  frame(kind: number, id: number, body: Uint8Array): Buffer {
    const at = this.begin(body.length);
    if (body.length > 0) this.#buffer.set(body, at);
    return this.finish(kind, id, at + body.length);
  }

  /** These bytes, of one or several frames, are read no more. */
  released(bytes: Uint8Array): void {
    const current = this.#chunk;
    const isCurrent = current !== undefined && bytes.buffer === current.bytes.buffer;
    const chunk = isCurrent ? current : this.#full?.get(bytes.buffer);
    if (chunk === undefined) return;
    chunk.held -= bytes.length;
    assert(chunk.held >= 0, 'bytes are released once');
    if (chunk.held > 0) return;
    if (isCurrent) this.#chunk = undefined;
    else this.#full?.delete(bytes.buffer);
    this.#pool.give(chunk);
  }

  /** Nothing of this arena is read any more. */
  close(): void {
    if (this.#chunk !== undefined) this.#pool.give(this.#chunk);
    this.#chunk = undefined;
    for (const chunk of this.#full?.values() ?? []) this.#pool.give(chunk);
    this.#full = undefined;
  }

  #reserve(bytes: number): void {
    if (bytes * 2 > this.#limits.chunkBytes) {
      this.#buffer = Buffer.allocUnsafeSlow(bytes);
      this.#start = 0;
      return;
    }
    const chunk = this.#roomFor(bytes);
    this.#buffer = chunk.bytes;
    this.#start = chunk.used;
    chunk.used += bytes;
    chunk.held += bytes;
  }

  #roomFor(bytes: number): Chunk {
    const current = this.#chunk;
    if (current !== undefined) {
      if (current.used + bytes <= current.bytes.length) return current;
      this.#full ??= new Map();
      this.#full.set(current.bytes.buffer, current);
    }
    this.#chunk = this.#pool.take();
    return this.#chunk;
  }
}

/** The runs of bytes that cover `frames` in order: neighbours in one chunk become one view. Nothing is copied. */
export function mergeRuns(frames: readonly Buffer[]): readonly Uint8Array[] {
  // Mostly there is one, which is its own run.
  if (frames.length <= 1) return frames;
  const runs: Uint8Array[] = [];
  let first = frames[0];
  if (first === undefined) return runs;
  let bytes = 0;
  for (const frame of frames) {
    if (frame.buffer !== first.buffer || frame.byteOffset !== first.byteOffset + bytes) {
      runs.push(new Uint8Array(first.buffer, first.byteOffset, bytes));
      first = frame;
      bytes = 0;
    }
    bytes += frame.length;
  }
  runs.push(new Uint8Array(first.buffer, first.byteOffset, bytes));
  return runs;
}
