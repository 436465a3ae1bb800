/** The reused buffers into which groups are encoded on their way to the disk, each with a view of it. */
import { viewOf } from '../../base/views.ts';
import { HashList } from '../index/key-hash.ts';

const chunkBytesMin = 256 * 1024;

/** A buffer with whole groups back to back, and their offset in the file. */
export interface Chunk {
  readonly buffer: Buffer;
  readonly view: DataView;
  used: number;
  fileAt: number;
  /** Hashes of its records' keys, in order. */
  readonly hashes: HashList;
}

/** A pool of chunks, which retains at most `sparesMax` unused ones. */
export class Chunks {
  readonly #spares: Chunk[] = [];
  readonly #sparesMax: number;

  constructor(sparesMax: number) {
    this.#sparesMax = sparesMax;
  }

  /** An empty chunk with room for `bytes` bytes, for the file offset `fileAt`. */
  take(bytes: number, fileAt: number): Chunk {
    const spare = bytes <= chunkBytesMin ? this.#spares.pop() : undefined;
    if (spare === undefined) return makeChunk(Math.max(chunkBytesMin, bytes), fileAt);
    spare.fileAt = fileAt;
    return spare;
  }

  /** Returns a chunk that is no longer read or written. One made for a large batch is dropped. */
  giveBack(chunk: Chunk): void {
    if (chunk.buffer.length !== chunkBytesMin || this.#spares.length === this.#sparesMax) return;
    chunk.used = 0;
    chunk.hashes.clear();
    this.#spares.push(chunk);
  }
}

function makeChunk(bytes: number, fileAt: number): Chunk {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  return { buffer, view: viewOf(buffer), used: 0, fileAt, hashes: new HashList() };
}

/** The bytes of the chunk's groups. (`subarray` of a Buffer costs several times as much.) */
export function bytesOf({ buffer, used }: Chunk): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, used);
}
