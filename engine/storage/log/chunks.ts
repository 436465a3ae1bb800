/** The buffers that groups are encoded into on their way to the disk, each with a view of it, used again and again. */
import { viewOf } from '../../base/views.ts';
import { HashList } from '../index/key-hash.ts';

const chunkBytesMin = 256 * 1024;

/** Whole groups back to back, and where they lie in the file. */
export interface Chunk {
  readonly buffer: Buffer;
  readonly view: DataView;
  used: number;
  fileAt: number;
  /** Of its records' keys, in order. */
  readonly hashes: HashList;
}

export class Chunks {
  readonly #spares: Chunk[] = [];
  readonly #sparesMax: number;

  constructor(sparesMax: number) {
    this.#sparesMax = sparesMax;
  }

  /** An empty chunk with room for `bytes`. */
  take(bytes: number, fileAt: number): Chunk {
    const spare = bytes <= chunkBytesMin ? this.#spares.pop() : undefined;
    if (spare === undefined) return makeChunk(Math.max(chunkBytesMin, bytes), fileAt);
    spare.fileAt = fileAt;
    return spare;
  }

  /** Nobody reads or writes the chunk any more. One made for a large batch is let go. */
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

/** The chunk's groups. (`subarray` of a Buffer costs several times as much.) */
export function bytesOf({ buffer, used }: Chunk): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, used);
}
