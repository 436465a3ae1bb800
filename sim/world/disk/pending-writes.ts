/** The writes of a disk that were called and have not been answered. A crash finds all, a part or nothing of each. */
import type { Random } from '../../../engine/io/random.ts';
import type { FileImage } from './file-image.ts';

/** An open file as the disk knows it; the path follows renames. */
export interface OpenFile {
  readonly image: FileImage;
  path: string;
}

/** One write. */
export interface Write {
  readonly file: OpenFile;
  readonly chunks: readonly Uint8Array[];
  readonly offset: number;
  /** Bytes of all chunks. */
  readonly bytes: number;
}

/** What became of a write. */
export interface Written {
  /** Bytes that were written. */
  readonly count: number;
  /** Where they went: elsewhere than aimed only with `misdirected-io`. */
  readonly at: number;
  /** A copy of the file before a write that went elsewhere. */
  readonly before: Buffer | undefined;
}

/** The unanswered writes of one disk. */
export class WritesUnderWay {
  /** In the order of their calls. */
  readonly #writes: Write[] = [];

  /** Adds a write. Returns false if it overlaps another write under way, which the port forbids. */
  begin(write: Write): boolean {
    let clear = true;
    for (const other of this.#writes) if (overlap(other, write)) clear = false;
    this.#writes.push(write);
    return clear;
  }

  end(write: Write): void {
    const place = this.#writes.indexOf(write);
    if (place < 0) return;
    // Mostly it is the only one.
    if (place === this.#writes.length - 1) this.#writes.pop();
    else this.#writes.splice(place, 1);
  }

  /** The process that waits for them is dead: of each, a drawn part has been written. */
  abandon(random: Random): void {
    for (const { file, chunks, offset, bytes } of this.#writes) {
      const count = random.below(bytes + 1);
      if (count > 0) file.image.write(chunks, offset, count);
    }
    this.#writes.length = 0;
  }
}

function overlap(one: Write, other: Write): boolean {
  if (one.file.image !== other.file.image) return false;
  return one.offset < other.offset + other.bytes && other.offset < one.offset + one.bytes;
}
