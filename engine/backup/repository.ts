/**
 * A repository of backups, in a directory or a bucket (`backup-storage.ts`). Segments are files named by the SHA-256 of
 * their bytes, so backups share them.
 *
 *     LOCK                 held while a backup is written or expired
 *     backups/ID.json      manifest.ts
 *     segments/SHA256      the bytes of one segment
 *     segments/ID.part     a segment that is being copied; worthless after a crash
 *
 * A backup exists once its manifest does; the segments that it names are synced before that.
 */
import { createHash } from 'node:crypto';

import { LockstepError } from '../base/errors.ts';
import { readFully } from '../io/disk.ts';
import type { BackupStorage, SegmentSource, StorageLock, StoredFile } from './backup-storage.ts';
import type { BackupManifest, StoredSegment } from './manifest.ts';
import { decodeManifestText, encodeManifestText } from './manifest.ts';

const backupsDirectory = 'backups';
const segmentsDirectory = 'segments';
const manifestBytesMax = 256 * 1024 * 1024;
const windowBytes = 1024 * 1024;

/** The folders of a repository. */
export const repositoryFolders: readonly string[] = [backupsDirectory, segmentsDirectory];

/** The backups in one place. */
export class BackupRepository {
  readonly #storage: BackupStorage;
  /** The lock that this process took last. */
  #lock: StorageLock | undefined;

  constructor(storage: BackupStorage) {
    this.#storage = storage;
  }

  /** Takes the lock. Rejects with `Conflict` if another process writes here. */
  async lock(): Promise<StorageLock> {
    this.#lock = await this.#storage.lock();
    return this.#lock;
  }

  /** The ids of all backups, oldest first: their names sort by time. */
  async ids(): Promise<readonly string[]> {
    const names = await this.#storage.list(backupsDirectory);
    return names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
  }

  /** A backup's manifest; the newest backup's without an id. Rejects with `NotFound`, or as `decodeManifestText`. */
  async manifest(id?: string): Promise<BackupManifest> {
    const named = id ?? (await this.ids()).at(-1);
    if (named === undefined) throw new LockstepError('NotFound', 'there is no backup here');
    const path = `${backupsDirectory}/${named}.json`;
    const bytes = await this.#storage.read(path, manifestBytesMax);
    if (bytes === undefined) throw new LockstepError('NotFound', `there is no backup ${named} here`);
    return decodeManifestText(bytes.toString('utf8'), path);
  }

  /** Makes the backup exist, durably. Rejects with `Conflict` if the lock was lost meanwhile. */
  async commit(manifest: Omit<BackupManifest, 'format'>): Promise<void> {
    await this.#storage.settle(segmentsDirectory);
    const bytes = Buffer.from(encodeManifestText(manifest));
    await this.#lock?.check();
    await this.#storage.write(`${backupsDirectory}/${manifest.id}.json`, bytes);
  }

  /** Whether the segment's bytes are here already, by name and length. */
  async has({ sha256, bytes }: Pick<StoredSegment, 'sha256' | 'bytes'>): Promise<boolean> {
    return (await this.#storage.size(pathOf(sha256))) === bytes;
  }

  /** Stores the bytes, durably. Resolves with their SHA-256 and number. `part`: a name that no other copy uses now. */
  store(part: string, source: SegmentSource): Promise<{ readonly sha256: string; readonly bytes: number }> {
    return this.#storage.store(`${segmentsDirectory}/${part}.part`, source, pathOf);
  }

  /** Reads a segment. The caller closes it. Rejects if it is not there. */
  open(sha256: string): Promise<StoredFile> {
    return this.#storage.open(pathOf(sha256));
  }

  /** What is wrong with a segment's file; undefined if its bytes are those that were stored. */
  async damageOf({ sha256, bytes }: Pick<StoredSegment, 'sha256' | 'bytes'>): Promise<string | undefined> {
    const size = await this.#storage.size(pathOf(sha256));
    if (size === undefined) return 'the file is not there';
    if (size !== bytes) return `${size} bytes, and ${bytes} were stored`;
    const hash = createHash('sha256');
    for await (const chunk of chunksOf(await this.open(sha256), bytes)) hash.update(chunk);
    return hash.digest('hex') === sha256 ? undefined : 'its bytes do not have the hash that is its name';
  }

  /**
   * Removes the backups of these ids, and every segment that no other backup names. The caller holds the lock. Resolves
   * with the number of segments removed. Rejects before it removes anything if a manifest that stays cannot be read.
   */
  async remove(ids: readonly string[]): Promise<number> {
    const kept = new Set<string>();
    for (const id of await this.ids()) {
      if (ids.includes(id)) continue;
      for (const { segments } of (await this.manifest(id)).nodes)
        for (const { sha256 } of segments) kept.add(sha256);
    }
    await this.#lock?.check();
    await this.#storage.remove(ids.map((id) => `${backupsDirectory}/${id}.json`));
    // The manifests must be gone before segments that they name are.
    await this.#storage.settle(backupsDirectory);
    const names = await this.#storage.list(segmentsDirectory);
    const unneeded = names.filter((name) => !kept.has(name));
    await this.#storage.remove(unneeded.map(pathOf));
    await this.#storage.settle(segmentsDirectory);
    await this.#storage.removeUnfinished();
    return unneeded.length;
  }
}

function pathOf(sha256: string): string {
  return `${segmentsDirectory}/${sha256}`;
}

/** The first `bytes` bytes of the file, which is closed at the end. Fewer only if the file is shorter. */
export async function* chunksOf(file: StoredFile, bytes: number): AsyncGenerator<Buffer, void, undefined> {
  try {
    for (let at = 0; at < bytes;) {
      const chunk = Buffer.alloc(Math.min(windowBytes, bytes - at));
      const count = await readFully(file, chunk, at);
      if (count === 0) return;
      yield chunk.subarray(0, count);
      at += count;
    }
  } finally {
    await file.close();
  }
}
