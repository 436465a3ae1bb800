/**
 * The disk port on a machine: one directory, through callbacks of node:fs (half the cost of FileHandle).
 *
 * `sync` is fdatasync, which covers the length. A failed sync is reported and never repeated here: the kernel marks the
 * pages clean, so a second one would succeed over lost bytes. A descriptor is closed only when no call on it is under
 * way; otherwise its number could name another file by then.
 *
 * `writeDurably` writes through a descriptor opened with O_DSYNC: one trip to the thread pool instead of two. Each
 * concurrent durable write has a descriptor of its own (`durable-lanes.ts`).
 */
import fs from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Deferred } from '../base/deferred.ts';
import type { Disk, DiskFailure, DiskFile, DiskOperation, OpenMode } from '../io/disk.ts';
import { DiskError, parentOf } from '../io/disk.ts';
import { HeldElsewhere, takeLock } from './disk-lock.ts';
import { DurableLanes, IdleLanes } from './durable-lanes.ts';
import { ReadBursts } from './read-bursts.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_RDONLY, O_RDWR } = fs.constants;
const openFlags: Readonly<Record<OpenMode, number>> = {
  read: O_RDONLY,
  readWrite: O_RDWR | O_CREAT,
  create: O_RDWR | O_CREAT | O_EXCL,
};
const fileMode = 0o600;
const directoryMode = 0o700;

/** The disk port over `dataDirectory`, which is created if absent. Throws `DiskError` if that fails. */
export function createRealDisk(dataDirectory: string): Disk {
  const root = resolve(dataDirectory);
  makeRoot(root);
  return new RealDisk(root);
}

class RealDisk implements Disk {
  readonly #root: string;
  readonly #reads = new ReadBursts();
  readonly #idleLanes = new IdleLanes();

  constructor(root: string) {
    this.#root = root;
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const absolute = this.#resolve('open', path);
    const fd = await call<number>('open', path, (done) => fs.open(absolute, openFlags[mode], fileMode, done));
    const lanes = mode === 'read' ? undefined : new DurableLanes(absolute, fd, this.#idleLanes);
    return new RealFile(path, fd, this.#reads, lanes);
  }

  async rename(from: string, to: string): Promise<void> {
    const source = this.#resolve('rename', from);
    const target = this.#resolve('rename', to);
    await call<void>('rename', from, (done) => fs.rename(source, target, done));
  }

  async remove(path: string): Promise<void> {
    const absolute = this.#resolve('remove', path);
    await call<void>('remove', path, (done) => fs.unlink(absolute, done));
  }

  async list(directory: string): Promise<readonly string[]> {
    const absolute = this.#resolveDirectory('list', directory);
    const names = await call<string[]>('list', directory, (done) => fs.readdir(absolute, done));
    return names.sort();
  }

  async makeDirectory(directory: string): Promise<void> {
    this.#resolveDirectory('makeDirectory', directory);
    const parts = directory === '' ? [] : directory.split('/');
    // Parents are synced even if the directory exists: an earlier incarnation may have died before it synced them.
    for (let depth = 1; depth <= parts.length; depth++) {
      const path = parts.slice(0, depth).join('/');
      await this.#makeOne(path);
      await this.syncDirectory(parentOf(path));
    }
  }

  async syncDirectory(directory: string): Promise<void> {
    const absolute = this.#resolveDirectory('syncDirectory', directory);
    const operation = 'syncDirectory';
    const fd = await call<number>(operation, directory, (done) =>
      fs.open(absolute, O_RDONLY | O_DIRECTORY, done),
    );
    try {
      await call<void>(operation, directory, (done) => fs.fsync(fd, done));
    } finally {
      await call<void>(operation, directory, (done) => fs.close(fd, done));
    }
  }

  async size(path: string): Promise<number | undefined> {
    const absolute = this.#resolve('size', path);
    try {
      const stats = await call<fs.Stats>('size', path, (done) => fs.stat(absolute, done));
      return stats.isFile() ? stats.size : undefined;
    } catch (error) {
      if (error instanceof DiskError && error.failure === 'notFound') return undefined;
      throw error;
    }
  }

  async lock(path: string): Promise<{ release(): Promise<void> }> {
    const absolute = this.#resolve('lock', path);
    try {
      return await takeLock(absolute);
    } catch (error) {
      if (error instanceof HeldElsewhere) throw new DiskError('locked', 'lock', path, { cause: error });
      throw diskError('lock', path, error);
    }
  }

  async #makeOne(path: string): Promise<void> {
    const absolute = join(this.#root, path);
    try {
      await call<void>('makeDirectory', path, (done) => fs.mkdir(absolute, directoryMode, done));
    } catch (error) {
      if (!(error instanceof DiskError && error.failure === 'exists')) throw error;
      const stats = await call<fs.Stats>('makeDirectory', path, (done) => fs.stat(absolute, done));
      if (!stats.isDirectory()) throw error;
    }
  }

  #resolve(operation: DiskOperation, path: string): string {
    if (path === '') throw new DiskError('invalid', operation, path);
    return this.#resolveDirectory(operation, path);
  }

  /** As `#resolve`, with `''` for the data directory itself. */
  #resolveDirectory(operation: DiskOperation, path: string): string {
    if (path === '') return this.#root;
    const plain = path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
    if (!plain || path.includes('\0')) throw new DiskError('invalid', operation, path);
    return join(this.#root, path);
  }
}

class RealFile implements DiskFile {
  readonly path: string;
  readonly #fd: number;
  readonly #reads: ReadBursts;
  /** Undefined if the file is open for reading only. */
  readonly #lanes: DurableLanes | undefined;
  #underWay = 0;
  /** Settled when the descriptor is closed; undefined while the file is open. */
  #closing: Deferred<void> | undefined;

  constructor(path: string, fd: number, reads: ReadBursts, lanes: DurableLanes | undefined) {
    this.path = path;
    this.#fd = fd;
    this.#reads = reads;
    this.#lanes = lanes;
  }

  async size(): Promise<number> {
    const stats = await this.#call<fs.Stats>('size', (done) => fs.fstat(this.#fd, done));
    return stats.size;
  }

  readAt(into: Uint8Array, offset: number): Promise<number> {
    return this.#call('read', (done) => this.#reads.read(this.#fd, into, offset, done));
  }

  writeAt(chunks: readonly Uint8Array[], offset: number): Promise<number> {
    const [first] = chunks;
    if (first === undefined) return Promise.resolve(0);
    if (chunks.length === 1) {
      return this.#call('write', (done) => fs.write(this.#fd, first, 0, first.length, offset, done));
    }
    return this.#call('write', (done) => fs.writev(this.#fd, chunks, offset, done));
  }

  writeDurably(chunks: readonly Uint8Array[], offset: number): Promise<number> {
    const lanes = this.#lanes;
    // The file's own descriptor then refuses the write.
    if (lanes === undefined || chunks.length === 0) return this.writeAt(chunks, offset);
    return this.#call('write', (done) => lanes.write(chunks, offset, done));
  }

  sync(): Promise<void> {
    return this.#call('sync', (done) => fs.fdatasync(this.#fd, done));
  }

  truncate(length: number): Promise<void> {
    return this.#call('truncate', (done) => fs.ftruncate(this.#fd, length, done));
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = new Deferred<void>();
      this.#closeWhenIdle();
    }
    return this.#closing.promise;
  }

  #call<T>(operation: DiskOperation, start: (done: Done<T>) => void): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(new DiskError('closed', operation, this.path));
    this.#underWay += 1;
    // Not a `Deferred`, which costs more: most cold reads of the store come through here.
    return new Promise<T>((resolve, reject) => {
      start((error, value) => {
        this.#underWay -= 1;
        if (error === null) resolve(value);
        else reject(diskError(operation, this.path, error));
        if (this.#closing !== undefined) this.#closeWhenIdle();
      });
    });
  }

  #closeWhenIdle(): void {
    const closing = this.#closing;
    if (closing === undefined || this.#underWay > 0) return;
    this.#underWay = 1; // Prevents a second close.
    this.#lanes?.close();
    fs.close(this.#fd, (error) => {
      if (error === null) closing.resolve();
      else closing.reject(diskError('write', this.path, error));
    });
  }
}

type Done<T> = (error: NodeJS.ErrnoException | null, value: T) => void;

/** Runs one node:fs call as a promise; its error becomes a `DiskError`. */
function call<T>(operation: DiskOperation, path: string, start: (done: Done<T>) => void): Promise<T> {
  const outcome = new Deferred<T>();
  start((error, value) => {
    if (error === null) outcome.resolve(value);
    else outcome.reject(diskError(operation, path, error));
  });
  return outcome.promise;
}

function diskError(operation: DiskOperation, path: string, error: unknown): DiskError {
  return new DiskError(failureOf(error), operation, path, { cause: error });
}

const failures: Readonly<Record<string, DiskFailure>> = {
  ENOENT: 'notFound',
  ENOTDIR: 'notFound',
  EEXIST: 'exists',
  ENOSPC: 'noSpace',
  EDQUOT: 'noSpace',
  EBADF: 'invalid',
  EINVAL: 'invalid',
  EISDIR: 'invalid',
  ENAMETOOLONG: 'invalid',
};

function failureOf(error: unknown): DiskFailure {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return failures[code] ?? 'fault';
}

/** Makes the data directory and its ancestors durably. Runs once, before the engine starts. */
function makeRoot(root: string): void {
  try {
    const first = fs.mkdirSync(root, { recursive: true, mode: directoryMode });
    if (first === undefined) return;
    for (let made = root; made.length >= first.length; made = dirname(made)) syncNow(dirname(made));
  } catch (error) {
    throw diskError('makeDirectory', root, error);
  }
}

function syncNow(directory: string): void {
  const fd = fs.openSync(directory, O_RDONLY | O_DIRECTORY);
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
