/**
 * Caches values that were read lately, or written lately in small batches, so that a hot read is answered at once.
 * Values are stored back to back in chunks. When all chunks are used, the oldest one is evicted: values read from it
 * since move to the newest chunk (at most half a chunk), the rest is dropped. Beyond `freeBytes` a further chunk is
 * allocated only if at least half of the oldest one is in use. Otherwise what is in use moves to its successor: values
 * that were replaced since take no memory for long.
 *
 *     entry     u32 id | u32 length, upper bit: read since it was put here | value | padding to 8 bytes
 *
 * A chunk from which a view was returned is never written again after its eviction, so a view stays valid for as long
 * as it is held. A chunk without views is reused: allocating memory outside the heap makes the garbage collector walk
 * the whole heap. The key directory's row holds the position of the key's value; a row never points at another key's
 * entry.
 */
import { assert } from '../../base/assert.ts';
import { copyBytes, viewOf } from '../../base/views.ts';
import type { KeyDirectory } from './key-directory.ts';

const unitBits = 3;
const unitBytes = 1 << unitBits;
const headBytes = 8;
const hitBit = 0x80000000;
const chunkBytesMin = 4 * 1024;
const chunkBytesMax = 256 * 1024;
const chunksWanted = 16;
/** Up to here, chunks are allocated without a look at those there are. */
const freeBytes = 4 * 1024 * 1024;

/** The value cache of one store. */
export class ValueCache {
  readonly #directory: KeyDirectory;
  readonly #chunkBytes: number;
  readonly #chunkUnits: number;
  readonly #chunkCount: number;
  readonly #chunks: Buffer[] = [];
  /** A view of each chunk. */
  readonly #views: DataView[] = [];
  /** Whether a view into the chunk was returned. */
  readonly #handedOut: boolean[] = [];
  /** A chunk that is not in use, without views, if there is one. */
  #spare: Buffer | undefined;
  /** The chunk being filled, and how far. */
  #current = -1;
  #end = 0;

  constructor(directory: KeyDirectory, bytesMax: number) {
    this.#directory = directory;
    const wanted = Math.floor(bytesMax / chunksWanted / unitBytes) * unitBytes;
    this.#chunkBytes = Math.min(chunkBytesMax, Math.max(chunkBytesMin, wanted));
    this.#chunkUnits = this.#chunkBytes >>> unitBits;
    const chunkCount = Math.floor(bytesMax / this.#chunkBytes);
    this.#chunkCount = chunkCount < 2 ? 0 : chunkCount;
  }

  /** Bytes of memory used. */
  get bytes(): number {
    return (this.#chunks.length + (this.#spare === undefined ? 0 : 1)) * this.#chunkBytes;
  }

  /**
   * The value of a live key, or undefined if it is not cached. A view: it must not be changed; a caller that keeps it
   * long copies it.
   */
  get(id: number): Buffer | undefined {
    const place = this.#directory.cacheOf(id);
    if (place === 0) return undefined;
    const at = (place - 1) * unitBytes;
    const number = Math.floor(at / this.#chunkBytes);
    const chunk = this.#chunks[number];
    const view = this.#views[number];
    assert(chunk !== undefined && view !== undefined, 'a cache place lies in a chunk');
    const head = at - number * this.#chunkBytes;
    const length = view.getUint32(head + 4, true);
    if (length < hitBit) view.setUint32(head + 4, length | hitBit, true);
    this.#handedOut[number] = true;
    return chunk.subarray(head + headBytes, head + headBytes + (length & 0x7fffffff));
  }

  /** Caches a copy of the key's newest value, `length` bytes at `from`, unless it is too large. */
  put(id: number, bytes: DataView, from: number, length: number): void {
    const entryBytes = entrySize(length);
    if (this.#chunkCount === 0 || entryBytes > this.#chunkBytes / 4) {
      this.forget(id);
      return;
    }
    if (this.#current < 0 || this.#end + entryBytes > this.#chunkBytes) this.#turn();
    this.#append(id, bytes, from, length);
  }

  /** Drops the key's value: the key was changed or removed. */
  forget(id: number): void {
    if (this.#directory.cacheOf(id) !== 0) this.#directory.setCache(id, 0);
  }

  #append(id: number, bytes: DataView, from: number, length: number): void {
    const chunk = this.#views[this.#current];
    assert(chunk !== undefined, 'the current chunk exists');
    const head = this.#end;
    chunk.setUint32(head, id, true);
    chunk.setUint32(head + 4, length, true);
    copyBytes(bytes, from, length, chunk, head + headBytes);
    this.#end += entrySize(length);
    this.#directory.setCache(id, this.#current * this.#chunkUnits + (head >>> unitBits) + 1);
  }

  /** Starts a new chunk in place of the oldest one. */
  #turn(): void {
    const turned = this.#current;
    const endOfTurned = this.#end;
    const sparse = this.#sparseChunk();
    const growing = this.#chunks.length < this.#chunkCount;
    const next = sparse ?? (growing ? this.#chunks.length : (turned + 1) % this.#chunkCount);
    const oldest = this.#views[next];
    const unseen = this.#handedOut[next] === true ? undefined : this.#chunks[next];
    // Unused bytes must not be read as entries: marks the end.
    if (turned >= 0 && endOfTurned + headBytes <= this.#chunkBytes) {
      this.#views[turned]?.setUint32(endOfTurned, 0);
    }
    // From a chunk without views nothing was read, so none of its values moves to the next chunk.
    if (oldest === undefined || sparse !== undefined || this.#handedOut[next] === true) this.#renew(next);
    this.#current = next;
    this.#end = 0;
    if (oldest !== undefined) this.#release(oldest, next, sparse !== undefined);
    if (sparse !== undefined) this.#spare = unseen;
  }

  /** The number of the oldest chunk if less than half of it is in use, and a further one would be allocated now. */
  #sparseChunk(): number | undefined {
    const allocated = this.#chunks.length;
    if (allocated >= this.#chunkCount || allocated * this.#chunkBytes < freeBytes) return undefined;
    const number = (this.#current + 1) % allocated;
    const chunk = this.#views[number];
    assert(chunk !== undefined, 'an allocated chunk exists');
    let used = 0;
    for (let at = 0; at + headBytes <= this.#chunkBytes;) {
      const id = chunk.getUint32(at, true);
      if (id === 0) break;
      const bytes = entrySize(chunk.getUint32(at + 4, true) & 0x7fffffff);
      if (this.#directory.pointsAt(id, (number * this.#chunkBytes + at) / unitBytes + 1)) used += bytes;
      at += bytes;
    }
    return used <= this.#chunkBytes / 2 ? number : undefined;
  }

  #renew(number: number): void {
    const chunk = this.#spare ?? Buffer.allocUnsafeSlow(this.#chunkBytes);
    this.#spare = undefined;
    this.#chunks[number] = chunk;
    this.#views[number] = viewOf(chunk);
    this.#handedOut[number] = false;
  }

  /** Evicts a chunk's values; `all`: those that were not read move, too. */
  #release(oldest: DataView, number: number, all: boolean): void {
    let at = 0;
    while (at + headBytes <= this.#chunkBytes) {
      const id = oldest.getUint32(at, true);
      if (id === 0) break;
      const length = oldest.getUint32(at + 4, true);
      const place = (number * this.#chunkBytes + at) / unitBytes + 1;
      const valueAt = at + headBytes;
      at += entrySize(length & 0x7fffffff);
      if (!this.#directory.pointsAt(id, place)) continue;
      this.#directory.setCache(id, 0);
      const keep =
        (all || length >= hitBit) && this.#end + entrySize(length & 0x7fffffff) <= this.#chunkBytes / 2;
      if (keep) this.#append(id, oldest, valueAt, length & 0x7fffffff);
    }
  }
}

function entrySize(length: number): number {
  return (headBytes + length + unitBytes - 1) & -unitBytes;
}
