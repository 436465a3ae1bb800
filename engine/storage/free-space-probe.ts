/**
 * Checks whether a disk that was full has space again. A store whose disk was full takes no writes until it is opened
 * again (`store.ts`). Opening it is useless while nothing fits, and the operator should not have to check.
 *
 * The probe writes instead of asking for the number of free bytes: with quotas, reserved blocks and thin volumes a file
 * system reports bytes that cannot be written. What a probe has written is removed before its result counts. A file
 * that a crash leaves is removed by the next start (`recovery/recovery.ts`).
 */
import { sometimes } from '../base/sometimes.ts';
import type { Timer } from '../io/clock.ts';
import { DiskError, writeFullyDurably } from '../io/disk.ts';
import { probeName } from './log/file-names.ts';
import type { StoreOptions } from './options.ts';
import type { StoreIo } from './store-io.ts';

/** Delay before the first probe, and the longest delay between two; each failed probe doubles it. Microseconds. */
const intervalUsMin = 2_000_000;
const intervalUsMax = 16_000_000;
/**
 * A probe writes as much as this many flushes that extend the log, at most one segment: with less the disk is soon full
 * again.
 */
const preallocationsMin = 8;
/** The repeated block is longer than the window of fast compressors. */
const blockBytes = 128 * 1024;

/** The probe of one store. */
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

  /** Calls `found` once there is space; at once if it has been found. */
  onFound(found: () => void): void {
    if (this.#found) found();
    else this.#onFound.push(found);
  }

  /** Probes repeatedly until there is space. */
  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#io.clock.after(this.#intervalUs, () => {
      this.#probing = this.#probe();
      const probing = this.#probing;
      this.#io.spawn('store.room.probe', () => probing);
    });
  }

  /** Stops probing; resolves when no probe file is left. */
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
    sometimes('store.space-found');
    this.#found = true;
    for (const found of this.#onFound) found();
  }

  /** Whether a probe file fits; false also if the disk fails otherwise. */
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

  /** Random bytes: many file systems store zeros without using space. */
  #noise(): readonly Uint8Array[] {
    this.#block ??= this.#io.random.fork('store.room.probe').bytes(blockBytes);
    const views: Uint8Array[] = [];
    for (let left = this.#bytes; left > 0; left -= blockBytes)
      views.push(this.#block.subarray(0, Math.min(left, blockBytes)));
    return views;
  }
}
