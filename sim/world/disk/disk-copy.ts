/** Copies of a disk's contents, for wiping, exchanging and rolling back disks. */
import type { Names } from './directory-entries.ts';
import { Directory } from './directory-entries.ts';
import { FileImage } from './file-image.ts';
import { parentOf } from '../../../engine/io/disk.ts';

/** The contents of a disk, independent of it. */
export interface DiskCopy {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly directories: readonly string[];
  /** By path, the ranges that do not hold what their writers believe, as (from, to) pairs. */
  readonly altered?: ReadonlyMap<string, readonly number[]>;
}

/** The files, as the running system sees them. */
export function currentFiles(names: Names): ReadonlyMap<string, Buffer> {
  return new Map(names.files().map(([path, image]) => [path, Buffer.from(image.view(0, image.length))]));
}

/** The files and bytes that every crash would leave (`Names.durableFiles`), ordered by path. */
export function certainFiles(names: Names): ReadonlyMap<string, Buffer> {
  return new Map(
    names
      .durableFiles()
      .toSorted(byPath)
      .map(([path, image]) => [path, Buffer.from(image.durable)]),
  );
}

/** A copy of the disk with the given files. */
export function copyOf(names: Names, files: ReadonlyMap<string, Buffer>): DiskCopy {
  const altered = names
    .files()
    .map(([path, image]) => [path, image.alteredIn(0, Infinity)] as const)
    .filter(([, ranges]) => ranges.length > 0);
  return { files, directories: names.directories(), altered: new Map(altered) };
}

/** Makes the disk hold exactly what the copy holds, all of it durable. */
export function layDown(names: Names, { files, directories, altered }: DiskCopy, nextId: () => number): void {
  names.clear();
  for (const directory of directories.toSorted()) {
    names.set(directory, new Directory());
    names.sync(parentOf(directory));
  }
  for (const [path, bytes] of files) {
    const image = new FileImage(nextId());
    image.write([bytes], 0, bytes.length);
    image.finishSync(image.beginSync());
    names.set(path, image);
    const ranges = altered?.get(path) ?? [];
    for (let index = 0; index + 1 < ranges.length; index += 2) {
      image.noteAltered(ranges[index] ?? 0, ranges[index + 1] ?? 0);
    }
  }
  for (const directory of ['', ...directories]) names.sync(directory);
}

function byPath([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
