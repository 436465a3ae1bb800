/**
 * Reports bytes to listeners at the moment they become durable under a durable name: the basis of `durable-before-ack`.
 */
import { FileImage } from './file-image.ts';
import type { Names } from './directory-entries.ts';
import { Directory } from './directory-entries.ts';

/** Bytes `from`..`to - 1` of a file have become durable, under a durable name. */
export interface DurableRun {
  readonly host: string;
  readonly path: string;
  /** All durable bytes of the file, because a value may cross `from` or `to`. A view that must not be kept. */
  readonly image: Buffer;
  readonly from: number;
  readonly to: number;
}

/** Receives each run. */
export type DurableListener = (run: DurableRun) => void;

/** The listeners of one disk. */
export class DurableRuns {
  readonly #host: string;
  readonly #names: Names;
  readonly #listeners: DurableListener[] = [];

  constructor(host: string, names: Names) {
    this.#host = host;
    this.#names = names;
  }

  listen(listener: DurableListener): void {
    this.#listeners.push(listener);
  }

  /** Ranges of a file, as (from, to) pairs, have become durable; reported if its name is durable too. */
  tellRanges(path: string, image: FileImage, ranges: readonly number[]): void {
    if (this.#listeners.length === 0 || !this.#names.isDurable(path, image)) return;
    for (let index = 0; index + 1 < ranges.length; index += 2) {
      this.#tell(path, image, ranges[index] ?? 0, ranges[index + 1] ?? 0);
    }
  }

  /** Names have become durable, and with them all durable bytes of their files. */
  tellNames(paths: readonly string[]): void {
    if (this.#listeners.length === 0) return;
    for (const path of paths) {
      const entry = this.#names.get(path);
      if (entry instanceof FileImage) this.#tellFile(path, entry);
      else if (entry instanceof Directory) this.#tellFilesUnder(`${path}/`);
    }
  }

  /** Reports everything on the disk: after a power loss all of it is durable. */
  tellAll(): void {
    if (this.#listeners.length > 0) this.#tellFilesUnder('');
  }

  #tellFilesUnder(prefix: string): void {
    for (const [path, image] of this.#names.files()) if (path.startsWith(prefix)) this.#tellFile(path, image);
  }

  #tellFile(path: string, image: FileImage): void {
    if (this.#names.isDurable(path, image)) this.#tell(path, image, 0, image.durable.length);
  }

  #tell(path: string, image: FileImage, from: number, until: number): void {
    const { durable } = image;
    const to = Math.min(until, durable.length);
    if (from >= to) return;
    for (const listener of this.#listeners) listener({ host: this.#host, path, image: durable, from, to });
  }
}
