/** A repository of backups in a directory. */
import { createHash } from 'node:crypto';

import { LockstepError } from '../base/errors.ts';
import type { Disk } from '../io/disk.ts';
import { DiskError, readFile, replaceFile, writeFully } from '../io/disk.ts';
import type { BackupStorage, SegmentSource, StorageLock, StoredFile } from './backup-storage.ts';

/** The files below the directory of `disk`. */
export class DirectoryStorage implements BackupStorage {
  readonly #disk: Disk;
  readonly #folders: readonly string[];

  /** `folders`: those that writing needs. */
  constructor(disk: Disk, folders: readonly string[]) {
    this.#disk = disk;
    this.#folders = folders;
  }

  async lock(): Promise<StorageLock> {
    for (const folder of this.#folders) await this.#disk.makeDirectory(folder);
    await this.#disk.syncDirectory('');
    try {
      const lock = await this.#disk.lock('LOCK');
      // The holder's death alone ends it.
      return { check: () => Promise.resolve(), release: () => lock.release() };
    } catch (error) {
      if (!(error instanceof DiskError) || error.failure !== 'locked') throw error;
      throw new LockstepError('Conflict', 'another backup, or an expiry, is at work in this directory');
    }
  }

  async list(folder: string): Promise<readonly string[]> {
    try {
      return await this.#disk.list(folder);
    } catch (error) {
      if (error instanceof DiskError && error.failure === 'notFound') return [];
      throw error;
    }
  }

  read(path: string, bytesMax: number): Promise<Buffer | undefined> {
    return readFile(this.#disk, path, bytesMax);
  }

  size(path: string): Promise<number | undefined> {
    return this.#disk.size(path);
  }

  open(path: string): Promise<StoredFile> {
    return this.#disk.open(path, 'read');
  }

  write(path: string, bytes: Uint8Array): Promise<void> {
    return replaceFile(this.#disk, path, bytes);
  }

  async store(
    part: string,
    source: SegmentSource,
    pathOf: (sha256: string) => string,
  ): Promise<{ readonly sha256: string; readonly bytes: number }> {
    const file = await this.#disk.open(part, 'readWrite');
    const hash = createHash('sha256');
    let bytes = 0;
    try {
      await file.truncate(0);
      for await (const chunk of source) {
        hash.update(chunk);
        bytes += await writeFully(file, [chunk], bytes);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    const sha256 = hash.digest('hex');
    await this.#disk.rename(part, pathOf(sha256));
    return { sha256, bytes };
  }

  settle(folder: string): Promise<void> {
    return this.#disk.syncDirectory(folder);
  }

  async remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) await this.#disk.remove(path);
  }

  removeUnfinished(): Promise<void> {
    // They are files of the folder like any other.
    return Promise.resolve();
  }
}
