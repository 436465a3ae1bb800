/**
 * Where a repository of backups keeps its files: a directory (`directory-storage.ts`) or a bucket of an S3-compatible
 * server (`cli/backup/s3-storage.ts`). Both have the same layout, so that any tool may copy one to the other.
 *
 * Paths are relative, with `/` between parts. Promised: a file that was written is durable (for names in a directory:
 * after `settle`), whole, and seen by the next `list`, `read`, `size` and `open`.
 */
import type { DiskFile } from '../io/disk.ts';

/** The bytes of a segment, chunk by chunk, in order. */
export type SegmentSource = AsyncIterable<Uint8Array>;

/** A file that can be read at any offset. The caller closes it. */
export type StoredFile = Pick<DiskFile, 'size' | 'readAt' | 'close'>;

/** The right to write, held by one process at a time. */
export interface StorageLock {
  /** Rejects with `Conflict` if another process has taken the lock meanwhile: nothing may be written any more. */
  check(): Promise<void>;
  release(): Promise<void>;
}

/** The files of one repository. Operations reject with `DiskError`, or with the server's error. */
export interface BackupStorage {
  /** Takes the lock, and makes what writing needs. Rejects with `Conflict` while another process holds it. */
  lock(): Promise<StorageLock>;
  /** Names (not paths) of the files of a folder, sorted by code unit; none if there is no such folder. */
  list(folder: string): Promise<readonly string[]>;
  /** The whole file, or undefined if there is none. Rejects if it is larger than `bytesMax`. */
  read(path: string, bytesMax: number): Promise<Buffer | undefined>;
  /** Length in bytes; undefined if there is no such file. */
  size(path: string): Promise<number | undefined>;
  open(path: string): Promise<StoredFile>;
  /** Replaces the file in one step, durably. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /**
   * Stores the bytes of `source` under the path that `pathOf` makes of their SHA-256 (64 hexadecimal digits). Until then
   * they are at `part`, a path that no other call uses now; it is worthless after a crash.
   */
  store(
    part: string,
    source: SegmentSource,
    pathOf: (sha256: string) => string,
  ): Promise<{ readonly sha256: string; readonly bytes: number }>;
  /** Makes the names of a folder durable. */
  settle(folder: string): Promise<void>;
  /** Removes files, in order; durable after `settle`. */
  remove(paths: readonly string[]): Promise<void>;
  /** Removes what processes that have ended left of files that they were storing. The caller holds the lock. */
  removeUnfinished(): Promise<void>;
}
