/**
 * Looks whether a disk that was full has room again. A store that has found no room takes no writes until it is opened
 * anew (store.ts); it would be opened in vain while nothing fits, and its operator should not have to look for it.
 *
 * Room is tried and not asked for: quotas, reserved blocks and thin volumes let a file system tell of bytes that nobody
 * can write. What a probe has written is removed before its answer counts; what a crash leaves of it, the next start
 * removes (storage/recovery/recovery.ts).
 */
import type { Timer } from '../io/clock.ts';
import { DiskError, writeFullyDurably } from '../io/disk.ts';
import { probeName } from './log/file-names.ts';
import type { StoreOptions } from './options.ts';
import type { StoreIo } from './store-io.ts';

/** To the first probe, and to the next one at most: each that finds none doubles it. */
const intervalUsMin = 2_000_000;
const intervalUsMax = 16_000_000;
/** A probe writes as much as so many flushes that make the log longer, and a segment at most: less is soon full again. */
const preallocationsMin = 8;
/** Repeated farther apart than what compresses fast looks back. */
const blockBytes = 128 * 1024;

export class FreeSpaceProbe {
  readonly #io: StoreIo;
  readonly #path: string;
  readonly #bytes: number;
  readonly #onFound: (() => void)[] = [];
  #found = false;
  #intervalUs = intervalUsMin;
  #block: Uint8Array | undefined;
  #timer: Timer | undefined;
  #probing: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(io: StoreIo, directory: string, { preallocateBytes, segmentBytes }: StoreOptions) {
    this.#io = io;
    this.#path = `${directory}/${probeName}`;
    this.#bytes = Math.min(segmentBytes, preallocationsMin * preallocateBytes);
  }

  /** Calls `found` once, when there is room; at once when that has been found. */
  onFound(found: () => void): void {
    if (this.#found) found();
    else this.#onFound.push(found);
  }

  /** Looks again and again until there is room. */
  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#io.clock.after(this.#intervalUs, () => {
      this.#probing = this.#probe();
      const probing = this.#probing;
      this.#io.spawn('store.room.probe', () => probing);
    });
  }

  /** Looks no more; resolves when nothing of a probe is left. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#probing;
  }

  async #probe(): Promise<void> {
    const hasRoom = await this.#fits();
    if (this.#stopped) return;
    if (!hasRoom) {
      this.#intervalUs = Math.min(2 * this.#intervalUs, intervalUsMax);
      this.start();
      return;
    }
    this.#io.log.event('warn', 'store.room.found', { bytes: this.#bytes });
    this.#found = true;
    for (const found of this.#onFound) found();
  }

  /** False: it does not, or the disk fails otherwise. */
  async #fits(): Promise<boolean> {
    try {
      const file = await this.#io.disk.open(this.#path, 'readWrite');
      try {
        await writeFullyDurably(file, this.#noise(), 0);
      } finally {
        await file.close();
        await this.#io.disk.remove(this.#path);
      }
      return true;
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      return false;
    }
  }

  /** Bytes that no file system makes fewer: zeros would need no room on many. */
  #noise(): readonly Uint8Array[] {
    this.#block ??= this.#io.random.fork('store.room.probe').bytes(blockBytes);
    const views: Uint8Array[] = [];
    for (let left = this.#bytes; left > 0; left -= blockBytes)
      views.push(this.#block.subarray(0, Math.min(left, blockBytes)));
    return views;
  }
}
