/**
 * The disk door: files and directories, and exactly what a crash leaves of them.
 *
 * Paths are relative to the node's data directory, with `/` between parts; `..` and absolute paths are refused.
 *
 * Promised:
 * - what `sync` covered when it resolved survives a crash: the file's bytes and length as they were when it was called;
 * - a new name, a rename or a removal survives a crash once `syncDirectory` of the directory that holds the name has
 *   resolved; until then, after a crash, either the old or the new state is found, per name;
 * - what `writeDurably` wrote when it resolved survives a crash, with as much of the file's length as it needs;
 * - a rename replaces its target in one step: no instant shows neither.
 *
 * Not promised:
 * - unsynced bytes after a crash: each 512-byte sector of them may be there, not there, or (at the write's edges) torn;
 *   a file's length may have grown without its bytes (they read as zeros);
 * - anything of the bytes that a failed `sync` covered, ever: they may be dropped, and a later `sync` that succeeds
 *   says nothing about them ("fsyncgate"); the same of the bytes of a failed `writeDurably`;
 * - anything of other bytes than its own by `writeDurably`: what `writeAt` wrote waits for `sync`; nor any order among
 *   durable writes that are under way at once: a crash may leave the later one alone;
 * - that `readAt`, `writeAt` or `writeDurably` move all bytes in one call: they say how many;
 * - that bytes read are the bytes written (bit rot, misdirected writes): check your own checksums.
 */

export type DiskFailure = 'notFound' | 'exists' | 'noSpace' | 'fault' | 'locked' | 'closed' | 'invalid';

export type DiskOperation =
  | 'open'
  | 'read'
  | 'write'
  | 'sync'
  | 'truncate'
  | 'rename'
  | 'remove'
  | 'list'
  | 'makeDirectory'
  | 'syncDirectory'
  | 'size'
  | 'lock';

/** A disk operation failed. `failure` says how, `operation` and `path` where. */
export class DiskError extends Error {
  override readonly name = 'DiskError';
  readonly failure: DiskFailure;
  readonly operation: DiskOperation;
  readonly path: string;

  constructor(failure: DiskFailure, operation: DiskOperation, path: string, options?: ErrorOptions) {
    super(`disk ${operation} ${path}: ${failure}`, options);
    this.failure = failure;
    this.operation = operation;
    this.path = path;
  }
}

export type OpenMode =
  /** The file must exist; reads only. */
  | 'read'
  /** Created when absent, kept when present; reads and writes. */
  | 'readWrite'
  /** Must be absent; reads and writes. */
  | 'create';

export interface DiskFile {
  readonly path: string;
  /** Length in bytes. */
  size(): Promise<number>;
  /** Reads up to `into.length` bytes at `offset` into `into`; resolves with how many (0: at or past the end). */
  readAt(into: Uint8Array, offset: number): Promise<number>;
  /**
   * Writes a prefix of `chunks` at `offset`; resolves with how many bytes (at least 1). The views must not change
   * until then. Concurrent writes to one file must not overlap.
   */
  writeAt(chunks: readonly Uint8Array[], offset: number): Promise<number>;
  /**
   * As `writeAt`, and what it says was written is durable when it resolves: what `writeAt` and `sync` do, for its own
   * bytes only and in one operation. Several may be under way at once, and a failure is told to all that it concerns.
   */
  writeDurably(chunks: readonly Uint8Array[], offset: number): Promise<number>;
  /** Makes everything written before this call durable, the length included. Rejects when it cannot say so. */
  sync(): Promise<void>;
  /** Cuts or extends (with zeros) to `length` bytes; durable after `sync`. */
  truncate(length: number): Promise<void>;
  /** Releases the handle; waits for nothing and syncs nothing. */
  close(): Promise<void>;
}

export interface DiskLock {
  release(): Promise<void>;
}

export interface Disk {
  open(path: string, mode: OpenMode): Promise<DiskFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Names (not paths) in a directory, sorted by code unit. */
  list(directory: string): Promise<readonly string[]>;
  /** Makes a directory and those above it; no error when it is there. */
  makeDirectory(directory: string): Promise<void>;
  syncDirectory(directory: string): Promise<void>;
  /** Length of a file in bytes; undefined when there is none. */
  size(path: string): Promise<number | undefined>;
  /**
   * Takes the exclusive lock named by a file; rejects with `locked` while another living process (or another holder
   * in this one) has it. The death of the holder releases it.
   */
  lock(path: string): Promise<DiskLock>;
}

/** Fills `into` from `offset`, over short reads; resolves with how many bytes there were (fewer only at the end). */
export async function readFully(
  file: Pick<DiskFile, 'readAt'>,
  into: Uint8Array,
  offset: number,
): Promise<number> {
  let filled = 0;
  while (filled < into.length) {
    const count = await file.readAt(into.subarray(filled), offset + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled;
}

/** Writes all of `chunks` at `offset`, over short writes; resolves with how many bytes that were. */
export async function writeFully(
  file: DiskFile,
  chunks: readonly Uint8Array[],
  offset: number,
): Promise<number> {
  let rest = chunks;
  let written = 0;
  while (rest.length > 0) {
    const count = await file.writeAt(rest, offset + written);
    written += count;
    rest = dropBytes(rest, count);
  }
  return written;
}

/** As `writeFully`, and all of it is durable when this resolves. (The usual write costs one promise beyond the door's.) */
export function writeFullyDurably(
  file: DiskFile,
  chunks: readonly Uint8Array[],
  offset: number,
): Promise<number> {
  let bytes = 0;
  for (const chunk of chunks) bytes += chunk.length;
  if (bytes === 0) return Promise.resolve(0);
  return file
    .writeDurably(chunks, offset)
    .then((count) => (count === bytes ? bytes : writeRestDurably(file, chunks, offset, count)));
}

/** What is left of `chunks` once `written` bytes of them are durable. */
async function writeRestDurably(
  file: DiskFile,
  chunks: readonly Uint8Array[],
  offset: number,
  written: number,
): Promise<number> {
  let rest = dropBytes(chunks, written);
  let total = written;
  while (rest.length > 0) {
    const count = await file.writeDurably(rest, offset + total);
    total += count;
    rest = dropBytes(rest, count);
  }
  return total;
}

/** The whole file's bytes, or undefined when there is no such file. `bytesMax` guards the memory. */
export async function readFile(disk: Disk, path: string, bytesMax: number): Promise<Buffer | undefined> {
  if ((await disk.size(path)) === undefined) return undefined;
  const file = await disk.open(path, 'read');
  try {
    const size = await file.size();
    if (size > bytesMax) throw new DiskError('invalid', 'read', path);
    const bytes = Buffer.alloc(size);
    const count = await readFully(file, bytes, 0);
    return bytes.subarray(0, count);
  } finally {
    await file.close();
  }
}

/**
 * Puts `bytes` under `path` so that a crash leaves the old file or the new one, whole: written beside it, synced,
 * renamed, and the directory synced before this resolves.
 */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const beside = `${path}.new`;
  const file = await disk.open(beside, 'readWrite');
  try {
    await file.truncate(0);
    await writeFully(file, [bytes], 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(beside, path);
  await disk.syncDirectory(parentOf(path));
}

/** The directory part of a path (`''` is the data directory itself). */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function dropBytes(chunks: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let left = count;
  let index = 0;
  for (; index < chunks.length; index++) {
    const size = chunks[index]?.length ?? 0;
    if (left < size) break;
    left -= size;
  }
  const rest = chunks.slice(index);
  const first = rest[0];
  if (first !== undefined && left > 0) rest[0] = first.subarray(left);
  return rest;
}
