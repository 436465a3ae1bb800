/**
 * Zeros behind the log of the open segment, written before the log gets there: a write that makes its file longer takes
 * a file system several times as long to make durable as one that does not. Once the log has a step's length they are
 * written while flushes fly, as soon as less than half a step is left, so that hardly a flush waits for them. The one
 * that does, in a young segment or when the log is faster, writes them with its own bytes.
 *
 * Invariant: zeros that are being written lie behind all that flushes under way write.
 */
import type { DiskFile } from '../../io/disk.ts';
import { writeFullyDurably } from '../../io/disk.ts';
import type { StoreIo } from '../store-io.ts';

export class ZerosAhead {
  readonly #io: StoreIo;
  /** Zeros at once at most; as many as the segment has bytes, if those are fewer. */
  readonly #bytesMax: number;
  /** A segment that is as long as this needs no more. */
  readonly #fileBytesMax: number;
  readonly #failed: (error: unknown) => void;
  /** The file is known to have as many bytes. */
  #end = 0;
  #growing: Promise<void> | undefined;

  /** `failed` is told when zeros cannot be written: then the disk takes no more, or cannot be relied on. */
  constructor(io: StoreIo, bytesMax: number, fileBytesMax: number, failed: (error: unknown) => void) {
    this.#io = io;
    this.#bytesMax = bytesMax;
    this.#fileBytesMax = fileBytesMax;
    this.#failed = failed;
  }

  /** The open segment's file has this many bytes. */
  get end(): number {
    return this.#end;
  }

  /** Resolves once no zeros are being written on their own. */
  async settle(): Promise<void> {
    await this.#growing;
  }

  /** Another segment is the open one, whose file has so many bytes. Called when nothing is being written. */
  restart(fileBytes: number): void {
    this.#end = fileBytes;
  }

  /** What a flush that ends at `end`, beyond all zeros, writes behind its own bytes: nothing where the segment ends. */
  behind(end: number): readonly Uint8Array[] {
    const bytes = end < this.#fileBytesMax ? Math.min(this.#bytesMax, end) : 0;
    this.#end = end + bytes;
    return zerosOf(bytes);
  }

  /** A flush that ends at `end` is under way: writes more zeros if it is time. */
  advance(file: DiskFile, end: number): void {
    const bytes = this.#bytesMax;
    // A young segment's steps are small: zeros of their own would take as long as the flushes that use them up.
    if (end < bytes) return;
    if (this.#growing !== undefined || this.#end - end >= bytes / 2 || this.#end >= this.#fileBytesMax)
      return;
    const growing = this.#grow(file, bytes);
    this.#growing = growing;
    this.#io.spawn('store.grow', () => growing);
  }

  async #grow(file: DiskFile, bytes: number): Promise<void> {
    try {
      await writeFullyDurably(file, zerosOf(bytes), this.#end);
      this.#end += bytes;
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#growing = undefined;
    }
  }
}

/** What zeros are written from: nothing ever changes it, and no memory comes and goes for a file that grows. */
const zeros = new Uint8Array(64 * 1024);

/** So many zeros, as views. */
export function zerosOf(bytes: number): Uint8Array[] {
  const views: Uint8Array[] = [];
  for (let left = bytes; left > 0; left -= zeros.length)
    views.push(left >= zeros.length ? zeros : zeros.subarray(0, left));
  return views;
}
