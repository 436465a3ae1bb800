/**
 * A directory of backups. Segments are files named by the SHA-256 of their bytes, so backups share them.
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
import type { Disk, DiskFile, DiskLock } from '../io/disk.ts';
import { DiskError, readFile, readFully, replaceFile, writeFully } from '../io/disk.ts';
import type { BackupManifest, StoredSegment } from './manifest.ts';
import { decodeManifestText, encodeManifestText } from './manifest.ts';

const backupsDirectory = 'backups';
const segmentsDirectory = 'segments';
const manifestBytesMax = 256 * 1024 * 1024;
const windowBytes = 1024 * 1024;

/** The bytes of a segment, chunk by chunk, in order. */
export type SegmentSource = AsyncIterable<Uint8Array>;

/** The backups in one directory. */
export class BackupRepository {
  readonly disk: Disk;

  constructor(disk: Disk) {
    this.disk = disk;
  }

  /** Makes the directories, and takes the lock. Rejects with `Conflict` if another process writes here. */
  async lock(): Promise<DiskLock> {
    for (const directory of [backupsDirectory, segmentsDirectory]) await this.disk.makeDirectory(directory);
    await this.disk.syncDirectory('');
    try {
      return await this.disk.lock('LOCK');
    } catch (error) {
      if (!(error instanceof DiskError) || error.failure !== 'locked') throw error;
      throw new LockstepError('Conflict', 'another backup, or an expiry, is at work in this directory');
    }
  }

  /** The ids of all backups, oldest first: their names sort by time. */
  async ids(): Promise<readonly string[]> {
    const names = await this.#list(backupsDirectory);
    return names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
  }

  /** A backup's manifest; the newest backup's without an id. Rejects with `NotFound`, or as `decodeManifestText`. */
  async manifest(id?: string): Promise<BackupManifest> {
    const named = id ?? (await this.ids()).at(-1);
    if (named === undefined) throw new LockstepError('NotFound', 'there is no backup here');
    const path = `${backupsDirectory}/${named}.json`;
    const bytes = await readFile(this.disk, path, manifestBytesMax);
    if (bytes === undefined) throw new LockstepError('NotFound', `there is no backup ${named} here`);
    return decodeManifestText(bytes.toString('utf8'), path);
  }

  /** Makes the backup exist, durably. */
  async commit(manifest: Omit<BackupManifest, 'format'>): Promise<void> {
    await this.disk.syncDirectory(segmentsDirectory);
    const bytes = Buffer.from(encodeManifestText(manifest));
    await replaceFile(this.disk, `${backupsDirectory}/${manifest.id}.json`, bytes);
  }

  /** Whether the segment's bytes are here already, by name and length. */
  async has({ sha256, bytes }: Pick<StoredSegment, 'sha256' | 'bytes'>): Promise<boolean> {
    return (await this.disk.size(pathOf(sha256))) === bytes;
  }

  /** Stores the bytes, synced. Resolves with their SHA-256 and number. `part`: a name that no other copy uses now. */
  async store(
    part: string,
    source: SegmentSource,
  ): Promise<{ readonly sha256: string; readonly bytes: number }> {
    const path = `${segmentsDirectory}/${part}.part`;
    const file = await this.disk.open(path, 'readWrite');
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
    await this.disk.rename(path, pathOf(sha256));
    return { sha256, bytes };
  }

  /** Reads a segment. The caller closes it. Rejects with `DiskError`. */
  open(sha256: string): Promise<DiskFile> {
    return this.disk.open(pathOf(sha256), 'read');
  }

  /** What is wrong with a segment's file; undefined if its bytes are those that were stored. */
  async damageOf({ sha256, bytes }: Pick<StoredSegment, 'sha256' | 'bytes'>): Promise<string | undefined> {
    const size = await this.disk.size(pathOf(sha256));
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
    for (const id of ids) await this.disk.remove(`${backupsDirectory}/${id}.json`);
    // The manifests must be gone before segments that they name are.
    await this.disk.syncDirectory(backupsDirectory);
    let removed = 0;
    for (const name of await this.#list(segmentsDirectory)) {
      if (kept.has(name)) continue;
      await this.disk.remove(`${segmentsDirectory}/${name}`);
      removed += 1;
    }
    await this.disk.syncDirectory(segmentsDirectory);
    return removed;
  }

  async #list(directory: string): Promise<readonly string[]> {
    try {
      return await this.disk.list(directory);
    } catch (error) {
      if (error instanceof DiskError && error.failure === 'notFound') return [];
      throw error;
    }
  }
}

function pathOf(sha256: string): string {
  return `${segmentsDirectory}/${sha256}`;
}

/** The first `bytes` bytes of the file, which is closed at the end. Fewer only if the file is shorter. */
export async function* chunksOf(file: DiskFile, bytes: number): AsyncGenerator<Buffer, void, undefined> {
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
