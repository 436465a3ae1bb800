/**
 * Retains the file of a dropped segment to become the next segment of the log. Freeing a large file and making another
 * one of the same length costs a file system more than writing it, and delays concurrent syncs.
 *
 * Zeros are written over its records from the end to the front, so that at any instant it reads like a segment with
 * zeros written ahead. It keeps its name until it is used. No manifest names it, so a start after a crash removes it
 * with the other merged segments (`recovery/unlisted-segments.ts`). At most one file is retained.
 *
 * Invariant: the file that `giveAs` returns has only zeros behind the position of a segment's head, and they are
 * durable.
 */
import { sleep } from '../../io/clock.ts';
import type { DiskFile } from '../../io/disk.ts';
import { writeFullyDurably } from '../../io/disk.ts';
import type { StoreOptions } from '../options.ts';
import { segmentHeadBytes } from './record.ts';
import type { StoreIo } from '../store-io.ts';
import { zerosOf } from './preallocation.ts';

/** Zeros written at once: a flush of the log may have to wait for this many. */
const sliceBytes = 256 * 1024;

interface Spare {
  readonly path: string;
  readonly bytes: number;
}

/** The spare file of one store. */
export class SpareFile {
  readonly #io: StoreIo;
  /** A file with fewer bytes is not retained. */
  readonly #bytesMin: number;
  readonly #restPercent: number;
  #clearing = false;
  #spare: Spare | undefined;
  #closed = false;

  constructor(io: StoreIo, { segmentBytes, merge }: StoreOptions) {
    this.#io = io;
    this.#bytesMin = segmentBytes;
    this.#restPercent = merge.restPercent;
  }

  /**
   * Clears, closes and retains a file without other users. False: it is not retained and still belongs to the caller.
   * Rejects with a `DiskError`; the file then belongs to the caller, too.
   */
  async keep(file: DiskFile, path: string): Promise<boolean> {
    if (this.#closed || this.#clearing || this.#spare !== undefined) return false;
    this.#clearing = true;
    try {
      const bytes = await file.size();
      if (bytes < this.#bytesMin || !(await this.#clear(file, bytes))) return false;
      await file.close();
      this.#spare = { path, bytes };
      return true;
    } finally {
      this.#clearing = false;
    }
  }

  /** Renames the spare file to `path` and releases it. Resolves with its size; undefined without a spare file. */
  async giveAs(path: string): Promise<number | undefined> {
    const spare = this.#spare;
    if (spare === undefined) return undefined;
    this.#spare = undefined;
    await this.#io.disk.rename(spare.path, path);
    return spare.bytes;
  }

  /** Retains nothing from now on; returns the path of the spare file, which then belongs to the caller. */
  close(): string | undefined {
    this.#closed = true;
    const path = this.#spare?.path;
    this.#spare = undefined;
    return path;
  }

  /** Writes zeros at the pace of a merge; false if the spare was closed meanwhile. */
  async #clear(file: DiskFile, bytes: number): Promise<boolean> {
    const { clock } = this.#io;
    for (let end = bytes; end > segmentHeadBytes;) {
      if (this.#closed) return false;
      const from = Math.max(segmentHeadBytes, Math.floor((end - 1) / sliceBytes) * sliceBytes);
      const beganUs = clock.nowUs();
      await writeFullyDurably(file, zerosOf(end - from), from);
      end = from;
      const restUs = Math.floor(((clock.nowUs() - beganUs) * this.#restPercent) / 100);
      if (this.#restPercent > 0) await sleep(clock, restUs);
    }
    return !this.#closed;
  }
}
