/**
 * Writes zeros behind the log of the open segment before the log gets there. A write that extends its file takes a file
 * system several times as long to make durable as one that does not.
 *
 * Once the log is as long as one step, zeros are written beside flushes as soon as less than half a step is left, so
 * that few flushes wait for them. In a young segment, or if the log is faster, the flush itself writes zeros behind its
 * bytes.
 *
 * Invariant: zeros being written are behind everything that flushes in flight write.
 */
import type { DiskFile } from '../../io/disk.ts';
import { writeFullyDurably } from '../../io/disk.ts';
import type { StoreIo } from '../store-io.ts';

/** The preallocation of the open segment. */
export class ZerosAhead {
  readonly #io: StoreIo;
  /** Limit of zeros written at once; at most as many as the segment has bytes. */
  readonly #bytesMax: number;
  /** A segment of this length needs no more zeros. */
  readonly #fileBytesMax: number;
  readonly #failed: (error: unknown) => void;
  /** The file is known to have this many bytes. */
  #end = 0;
  #growing: Promise<void> | undefined;

  /** Calls `failed` if zeros cannot be written: the disk takes no more, or cannot be relied on. */
  constructor(io: StoreIo, bytesMax: number, fileBytesMax: number, failed: (error: unknown) => void) {
    this.#io = io;
    this.#bytesMax = bytesMax;
    this.#fileBytesMax = fileBytesMax;
    this.#failed = failed;
  }

  /** Bytes of the open segment's file. */
  get end(): number {
    return this.#end;
  }

  /** Resolves when no zeros are being written on their own. */
  async settle(): Promise<void> {
    await this.#growing;
  }

  /** Another segment is open, whose file has `fileBytes` bytes. Called while nothing is being written. */
  restart(fileBytes: number): void {
    this.#end = fileBytes;
  }

  /**
   * The zeros that a flush which ends at `end`, beyond all zeros, writes behind its own bytes; none where the segment
   * ends.
   */
  behind(end: number): readonly Uint8Array[] {
    const bytes = end < this.#fileBytesMax ? Math.min(this.#bytesMax, end) : 0;
    this.#end = end + bytes;
    return zerosOf(bytes);
  }

  /** Called for a flush in flight that ends at `end`: writes more zeros if they are due. */
  advance(file: DiskFile, end: number): void {
    const bytes = this.#bytesMax;
    // A young segment's steps are small: separate zeros would take as long as the flushes that use them up.
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

/** The source of all zeros: never written to, and shared, so that growing files allocate no memory. */
const zeros = new Uint8Array(64 * 1024);

/** `bytes` zeros, as views. */
export function zerosOf(bytes: number): Uint8Array[] {
  const views: Uint8Array[] = [];
  for (let left = bytes; left > 0; left -= zeros.length)
    views.push(left >= zeros.length ? zeros : zeros.subarray(0, left));
  return views;
}
