/**
 * The disk port: files and directories, and exactly what a crash leaves of them.
 *
 * Paths are relative to the node's data directory, with `/` between parts; `..` and absolute paths are refused.
 *
 * Promised:
 * - Data covered by a resolved `sync` survives a crash: the file's bytes and length as they were when `sync` was
 *   called.
 * - A new name, a rename or a removal survives a crash once `syncDirectory` of the containing directory has resolved.
 *   Until then each name is found in its old or its new state after a crash.
 * - Data covered by a resolved `writeDurably` survives a crash, with as much of the file's length as it needs.
 * - A rename replaces its target in one step: at no instant are both files absent.
 *
 * Not promised:
 * - Unsynced bytes after a crash: each 512-byte sector may be present, absent, or (at the edges of a write) torn. A
 *   file's length may have grown without its bytes, which then read as zeros.
 * - Bytes that a failed `sync` covered: the disk may drop them, and a later successful `sync` states nothing about them
 *   ("fsyncgate"). The same holds for the bytes of a failed `writeDurably`.
 * - Other bytes than its own by `writeDurably`: data of `writeAt` still needs `sync`. Concurrent durable writes have no
 *   order: a crash may leave only the later one.
 * - That `readAt`, `writeAt` or `writeDurably` move all bytes in one call: each returns how many it moved.
 * - That bytes read are the bytes written (bit rot, misdirected writes): the caller verifies its own checksums.
 */

/**
 * How an operation failed. `locked`: another holder has the lock. `invalid`: a refused path, or a file above the
 * caller's size limit.
 */
export type DiskFailure = 'notFound' | 'exists' | 'noSpace' | 'fault' | 'locked' | 'closed' | 'invalid';

/** The operation that failed, as named in a `DiskError`. */
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

/** A failed disk operation: what failed (`operation`, `path`) and how (`failure`). */
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

/** How `open` treats an existing and an absent file. */
export type OpenMode =
  /** Must exist; reads only. */
  | 'read'
  /** Created if absent, kept if present; reads and writes. */
  | 'readWrite'
  /** Must be absent; reads and writes. */
  | 'create';

/** An open file. Operations may run concurrently; they reject with `DiskError`. */
export interface DiskFile {
  readonly path: string;
  /** Length in bytes. */
  size(): Promise<number>;
  /** Reads up to `into.length` bytes at `offset` into `into`. Resolves with the count; 0 at or past the end. */
  readAt(into: Uint8Array, offset: number): Promise<number>;
  /**
   * Writes a prefix of `chunks` at `offset`. Resolves with the number of bytes, at least 1. The caller must not change
   * the chunks until then. Concurrent writes to one file must not overlap.
   */
  writeAt(chunks: readonly Uint8Array[], offset: number): Promise<number>;
  /**
   * As `writeAt`, and the bytes it reports are durable when it resolves: one operation instead of `writeAt` and `sync`,
   * for its own bytes only. Several may be under way at once; a failure is reported to every caller whose bytes it
   * affects.
   */
  writeDurably(chunks: readonly Uint8Array[], offset: number): Promise<number>;
  /** Makes everything written before this call durable, including the length. Rejects if durability is not certain. */
  sync(): Promise<void>;
  /** Cuts or extends (with zeros) the file to `length` bytes; durable after `sync`. */
  truncate(length: number): Promise<void>;
  /** Releases the handle; waits for no operation and syncs nothing. */
  close(): Promise<void>;
}

/** A held lock. */
export interface DiskLock {
  release(): Promise<void>;
}

/** The files below one node's data directory. Operations reject with `DiskError`. */
export interface Disk {
  open(path: string, mode: OpenMode): Promise<DiskFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Names (not paths) of the entries of a directory, sorted by code unit. */
  list(directory: string): Promise<readonly string[]>;
  /** Makes a directory and its missing ancestors; no error if it exists. */
  makeDirectory(directory: string): Promise<void>;
  syncDirectory(directory: string): Promise<void>;
  /** Length of a file in bytes; undefined if there is no such file. */
  size(path: string): Promise<number | undefined>;
  /**
   * Takes the exclusive lock named by a file. Rejects with `locked` while another living process, or another holder in
   * this process, has it. The holder's death releases it.
   */
  lock(path: string): Promise<DiskLock>;
}

/**
 * Fills `into` from `offset`, repeating short reads. Resolves with the bytes read: fewer than asked only at the end of
 * the file.
 */
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

/** Writes all of `chunks` at `offset`, repeating short writes. Resolves with the number of bytes. */
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

/**
 * As `writeFully`, and all bytes are durable when this resolves. Resolves with the offset behind the last of them. The
 * usual write costs one promise more than the port's own.
 */
export function writeFullyDurably(
  file: DiskFile,
  chunks: readonly Uint8Array[],
  offset: number,
): Promise<number> {
  let bytes = 0;
  for (const chunk of chunks) bytes += chunk.length;
  if (bytes === 0) return Promise.resolve(offset);
  return file
    .writeDurably(chunks, offset)
    .then((count) => (count === bytes ? offset + bytes : writeRestDurably(file, chunks, offset, count)));
}

/** Writes the part of `chunks` behind the first `written` bytes. Resolves with the offset behind the last one. */
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
  return offset + total;
}

/**
 * The whole file, or undefined if there is none. Throws `DiskError` `invalid` if it is larger than `bytesMax` (this
 * bounds memory).
 */
export async function readFile(
  disk: Pick<Disk, 'size' | 'open'>,
  path: string,
  bytesMax: number,
): Promise<Buffer | undefined> {
  if ((await disk.size(path)) === undefined) return undefined;
  let file: DiskFile;
  try {
    file = await disk.open(path, 'read');
  } catch (error) {
    // Another caller has removed it meanwhile.
    if (error instanceof DiskError && error.failure === 'notFound') return undefined;
    throw error;
  }
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
 * Replaces the file at `path` atomically: a crash leaves the old or the new content, whole. Writes and syncs
 * `path.new`, renames it, and syncs the directory before this resolves.
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
