/**
 * The names on a disk, twice: as the running system sees them, and as every crash leaves them. A name that was created,
 * moved or removed is durable once its directory is synced; until then a crash finds its old or its new state.
 */
import type { Random } from '../../../engine/io/random.ts';
import { parentOf } from '../../../engine/io/disk.ts';
import type { Survival } from './file-image.ts';
import { FileImage } from './file-image.ts';

/** A directory holds no bytes; its names are found by their paths. */
export class Directory {
  readonly kind = 'directory';
}

/** What a name stands for. */
export type Entry = FileImage | Directory;

/** How many unsynced names a crash kept in their new state, or reverted to the old one. */
export interface NameCounts {
  kept: number;
  reverted: number;
}

/** The names of one disk. */
export class Names {
  #current = new Map<string, Entry>();
  #durable = new Map<string, Entry>();
  /** By directory: paths in it that have changed since its last sync. */
  readonly #changed = new Map<string, Set<string>>();

  get count(): number {
    return this.#current.size;
  }

  get(path: string): Entry | undefined {
    return this.#current.get(path);
  }

  file(path: string): FileImage | undefined {
    const entry = this.#current.get(path);
    return entry instanceof FileImage ? entry : undefined;
  }

  /** Whether there is a directory of that path (`''` always exists). */
  isDirectory(path: string): boolean {
    return path === '' || this.#current.get(path) instanceof Directory;
  }

  set(path: string, entry: Entry): void {
    this.#current.set(path, entry);
    this.#noteChanged(path);
  }

  remove(path: string): void {
    this.#current.delete(path);
    this.#noteChanged(path);
  }

  /** Names in a directory, in no particular order. */
  list(directory: string): string[] {
    const names: string[] = [];
    const start = directory === '' ? 0 : directory.length + 1;
    for (const path of this.#current.keys()) if (parentOf(path) === directory) names.push(path.slice(start));
    return names;
  }

  /** Makes the names in a directory durable; returns the paths whose durable state changed. */
  sync(directory: string): readonly string[] {
    const paths = [...(this.#changed.get(directory) ?? [])];
    this.#changed.delete(directory);
    for (const path of paths) assign(this.#durable, path, this.#current.get(path));
    return paths;
  }

  /** Whether the file is found under this path after any crash. */
  isDurable(path: string, image: FileImage): boolean {
    return this.#durable.get(path) === image && this.#current.get(path) === image && this.#isReachable(path);
  }

  /**
   * Files that are found under their paths after any crash. A file that is being replaced (renamed over) counts as the
   * old one until the rename is durable: a crash finds the old or the new file, never none.
   */
  durableFiles(): readonly (readonly [path: string, image: FileImage])[] {
    const found: (readonly [string, FileImage])[] = [];
    for (const path of this.#durable.keys()) {
      const image = this.durableFile(path);
      if (image !== undefined) found.push([path, image]);
    }
    return found;
  }

  /** The one of `durableFiles` at the path. */
  durableFile(path: string): FileImage | undefined {
    const entry = this.#durable.get(path);
    const isFound = entry instanceof FileImage && this.file(path) !== undefined && this.#isReachable(path);
    return isFound ? entry : undefined;
  }

  /** Files by path, as the running system sees them. */
  files(): readonly (readonly [path: string, image: FileImage])[] {
    const found: (readonly [string, FileImage])[] = [];
    for (const [path, entry] of this.#current) if (entry instanceof FileImage) found.push([path, entry]);
    return found;
  }

  /** Paths of directories, parents first. */
  directories(): readonly string[] {
    const paths = [...this.#current].filter(([, entry]) => entry instanceof Directory).map(([path]) => path);
    return paths.sort();
  }

  /** Every file that has a name, now or after a crash; each once. */
  images(): readonly FileImage[] {
    const images = new Set<FileImage>();
    for (const names of [this.#durable, this.#current]) {
      for (const entry of names.values()) if (entry instanceof FileImage) images.add(entry);
    }
    return [...images];
  }

  /**
   * The machine loses its power: each changed name is found in its old or its new state. The files themselves have lost
   * power before (`FileImage.losePower`).
   */
  losePower(survival: Survival, random: Random, nextId: () => number): NameCounts {
    const counts = { kept: 0, reverted: 0 };
    const found = new Map(this.#durable);
    for (const paths of this.#changed.values()) {
      for (const path of paths) {
        const keeps = survival !== 'dropAll' && survival !== 'namesLost' && random.chance(1, 2);
        counts[keeps ? 'kept' : 'reverted'] += 1;
        if (keeps) assign(found, path, this.#current.get(path));
      }
    }
    this.#changed.clear();
    this.#current = reachable(found, nextId);
    this.#durable = new Map(this.#current);
    return counts;
  }

  /** Removes every name. */
  clear(): void {
    this.#current = new Map();
    this.#durable = new Map();
    this.#changed.clear();
  }

  /** Whether the directories above the path are durable. */
  #isReachable(path: string): boolean {
    for (let above = parentOf(path); above !== ''; above = parentOf(above)) {
      if (!(this.#durable.get(above) instanceof Directory)) return false;
    }
    return true;
  }

  #noteChanged(path: string): void {
    const directory = parentOf(path);
    const changed = this.#changed.get(directory);
    if (changed === undefined) this.#changed.set(directory, new Set([path]));
    else changed.add(path);
  }
}

function assign(names: Map<string, Entry>, path: string, entry: Entry | undefined): void {
  if (entry === undefined) names.delete(path);
  else names.set(path, entry);
}

/** Drops what lies in directories that are gone. A file found under two names (a rename in part) becomes two files. */
function reachable(found: ReadonlyMap<string, Entry>, nextId: () => number): Map<string, Entry> {
  const kept = new Map<string, Entry>();
  const seen = new Set<Entry>();
  const paths = [...found.keys()].sort();
  for (const path of paths) {
    const parent = parentOf(path);
    if (parent !== '' && !(kept.get(parent) instanceof Directory)) continue;
    const entry = found.get(path);
    if (entry === undefined) continue;
    kept.set(path, entry instanceof FileImage && seen.has(entry) ? entry.copy(nextId()) : entry);
    seen.add(entry);
  }
  return kept;
}
