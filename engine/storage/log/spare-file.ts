/**
 * The file of a segment that was dropped, kept to be the next segment of the log. To free a large file and to make
 * another one as long costs a file system more than to write it, and whoever syncs meanwhile waits.
 *
 * Zeros are written over its records from the end to the front, so that at any instant it reads as a segment does that
 * zeros were written ahead of. It keeps its name until it is wanted: no manifest names it, so a start after a crash
 * removes it with whatever else was merged away (storage/recovery/unlisted-segments.ts). One is kept at most.
 *
 * Invariant: whoever is given the file finds nothing but zeros behind the place of a segment's head, and they are
 * durable.
 */
import { sleep } from '../../io/clock.ts';
import type { DiskFile } from '../../io/disk.ts';
import { writeFullyDurably } from '../../io/disk.ts';
import type { StoreOptions } from '../options.ts';
import { segmentHeadBytes } from './record.ts';
import type { StoreIo } from '../store-io.ts';
import { zerosOf } from './preallocation.ts';

/** Zeros written at once: a flush of the log may have to wait for so many. */
const sliceBytes = 256 * 1024;

interface Spare {
  readonly path: string;
  readonly bytes: number;
}

export class SpareFile {
  readonly #io: StoreIo;
  /** A file with fewer bytes is not worth keeping. */
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
   * Clears and closes a file that nobody else uses, and keeps it. False: it is not wanted, and the caller's as before.
   * Rejects with a `DiskError`; then it is the caller's, too.
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

  /** Gives the file another name and away; how many bytes it has, or undefined when there is none. */
  async giveAs(path: string): Promise<number | undefined> {
    const spare = this.#spare;
    if (spare === undefined) return undefined;
    this.#spare = undefined;
    await this.#io.disk.rename(spare.path, path);
    return spare.bytes;
  }

  /** Keeps nothing from now on; the path of what was kept, which is the caller's. */
  close(): string | undefined {
    this.#closed = true;
    const path = this.#spare?.path;
    this.#spare = undefined;
    return path;
  }

  /** Writes zeros at the pace of a merge; false when it was closed meanwhile. */
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
