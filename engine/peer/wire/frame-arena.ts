/**
 * Memory for outgoing frames. Small frames are written side by side into chunks of a pool, so that the frames of one
 * turn are sent as one run of bytes. A large frame gets a buffer of its own size, outside of the pool.
 *
 * `released` ends the use of a frame: the network port calls it for frames that were written, the stream for frames
 * that are never sent. A chunk returns to the pool when none of its bytes is used any more, so an idle arena holds no
 * chunk. `close` returns everything, for a connection that is over.
 */
import { assert, failAssertion } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { BytesOwner } from '../../io/network.ts';
import type { Chunk } from './chunk-pool.ts';
import { ChunkPool } from './chunk-pool.ts';
import type { FrameLimits } from './frames.ts';
import { headerBytes, sealFrame } from './frames.ts';

/** Limits of an arena. */
export interface ArenaLimits extends FrameLimits {
  /** Bytes of one chunk. */
  readonly chunkBytes: number;
}

const noBytes = Buffer.alloc(0);

/** The frame memory of one stream. */
export class FrameArena implements BytesOwner {
  readonly #limits: ArenaLimits;
  readonly #pool: ChunkPool;
  /** The chunk that frames are written into. */
  #chunk: Chunk | undefined;
  /** Full chunks whose frames are still used, by the memory that views of them share. */
  #full: Map<ArrayBufferLike, Chunk> | undefined;
  #buffer: Buffer = noBytes;
  #start = 0;
  /** Where the frame that was begun last ends; -1 once it is ended. */
  #end = -1;

  /** `limits.chunkBytes` must be the size of the pool's chunks. Without `pool` the arena has its own. */
  constructor(limits: ArenaLimits, pool = new ChunkPool(limits.chunkBytes)) {
    this.#limits = limits;
    this.#pool = pool;
  }

  /** The buffer of the frame that was begun last. */
  get buffer(): Buffer {
    return this.#buffer;
  }

  /**
   * Begins a frame whose body has exactly `bodyBytes`. Returns where in `buffer` the body goes. Throws `TooLarge` if
   * the frame exceeds the limit; no frame is begun then.
   */
  begin(bodyBytes: number): number {
    const bytes = headerBytes + bodyBytes;
    if (bytes > this.#limits.frameBytesMax) {
      const detail = `a frame of ${bytes} bytes; at most ${this.#limits.frameBytesMax} are allowed`;
      throw new LockstepError('TooLarge', detail);
    }
    if (this.#end >= 0) failAssertion('one frame is begun at a time', this.#end);
    this.#reserve(bytes);
    this.#end = this.#start + bytes;
    return this.#start + headerBytes;
  }

  /** Ends the frame that was begun last, whose body ends at `bodyEnd`, and returns its bytes. */
  finish(kind: number, id: number, bodyEnd: number): Buffer {
    if (bodyEnd !== this.#end) failAssertion('a body has the size that was reserved', this.#end, bodyEnd);
    this.#end = -1;
    sealFrame(this.#buffer, this.#start, kind, id, bodyEnd - this.#start - headerBytes);
    return this.#buffer.subarray(this.#start, bodyEnd);
  }

  /** A frame with a copy of the body. Throws `TooLarge`. */
  frame(kind: number, id: number, body: Uint8Array): Buffer {
    const at = this.begin(body.length);
    if (body.length > 0) this.#buffer.set(body, at);
    return this.finish(kind, id, at + body.length);
  }

  /** These bytes, of one or several frames, are not read any more. */
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

  /** Returns all chunks: no bytes of this arena are read any more. */
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

/** The runs of bytes that cover `frames` in order: neighbours in one chunk become one view. Copies nothing. */
export function mergeRuns(frames: readonly Buffer[]): readonly Uint8Array[] {
  // Mostly there is one frame, which is its own run.
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
