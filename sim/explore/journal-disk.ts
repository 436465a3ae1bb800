/**
 * A disk in memory that records what is not durable yet, so that every state after a crash can be made from it, one by
 * one (crash-images.ts). It applies the disk port's contract at its harshest: unsynced writes survive by sectors,
 * unsynced names one by one, and a failed sync loses what it covered. Operations take effect when they are called and
 * resolve in the following microtask; there is no time.
 *
 * The world's disk (sim/world) draws one survival at random; this disk serves to visit all of them.
 */
import { assert } from '../../engine/base/assert.ts';
import { Deferred } from '../../engine/base/deferred.ts';
import type { Disk, DiskFile, DiskFailure, DiskLock, DiskOperation, OpenMode } from '../../engine/io/disk.ts';
import { DiskError, parentOf } from '../../engine/io/disk.ts';

/** A change of a file that is not durable yet. */
export type PendingChange =
  | { readonly kind: 'write'; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly length: number };

/** A file: what readers see, what is durable, and the changes between the two. */
export interface Inode {
  readonly number: number;
  bytes: Buffer;
  durable: Buffer;
  pending: readonly PendingChange[];
}

/** The state of a disk at one moment, from which every state after a crash can be made. */
export interface DiskMoment {
  readonly names: ReadonlyMap<string, number>;
  readonly durableNames: ReadonlyMap<string, number>;
  readonly inodes: ReadonlyMap<number, Inode>;
}

/** The content of a disk after a crash: path to bytes. */
export type DiskImage = ReadonlyMap<string, Buffer>;

/** Called before every operation. `fail`: the operation fails; a failed sync loses what it covered. */
export type Watcher = (operation: DiskOperation, path: string) => 'fail' | undefined;

/** The disk; implements the engine's port. */
export class JournalDisk implements Disk {
  readonly #inodes = new Map<number, Inode>();
  readonly #names = new Map<string, number>();
  readonly #durableNames = new Map<string, number>();
  readonly #locks = new Set<string>();
  readonly #open = new Set<JournalFile>();
  #nextInode = 1;
  #watch: Watcher = () => undefined;
  #halted = false;
  /** Most bytes that one read or write moves. */
  chunkBytesMax = Number.MAX_SAFE_INTEGER;

  constructor(image: DiskImage = new Map()) {
    for (const [path, bytes] of image) {
      const number = this.#nextInode++;
      this.#inodes.set(number, { number, bytes, durable: bytes, pending: [] });
      this.#names.set(path, number);
    }
    for (const [path, number] of this.#names) this.#durableNames.set(path, number);
  }

  /** The disk of a host whose process was killed at `moment`: the operating system still holds what is not durable. */
  static after(moment: DiskMoment): JournalDisk {
    const disk = new JournalDisk();
    for (const [number, inode] of moment.inodes) disk.#inodes.set(number, { ...inode });
    for (const [path, number] of moment.names) disk.#names.set(path, number);
    for (const [path, number] of moment.durableNames) disk.#durableNames.set(path, number);
    disk.#nextInode = Math.max(0, ...moment.inodes.keys()) + 1;
    return disk;
  }

  watch(watch: Watcher): void {
    this.#watch = watch;
  }

  /** From now on no operation settles: the host is dead. */
  halt(): void {
    this.#halted = true;
  }

  /** Paths of the files that are open, in the order of opening. */
  get openFiles(): readonly string[] {
    return [...this.#open].map(({ path }) => path);
  }

  /** A copy of the current state. */
  moment(): DiskMoment {
    const inodes = [...this.#inodes].map(([number, inode]) => [number, { ...inode }] as const);
    return {
      names: new Map(this.#names),
      durableNames: new Map(this.#durableNames),
      inodes: new Map(inodes),
    };
  }

  /** What readers see now: the disk's content after a graceful stop. */
  image(): DiskImage {
    return new Map([...this.#names].map(([path, number]) => [path, this.#inode(number).bytes]));
  }

  open(path: string, mode: OpenMode): Promise<DiskFile> {
    return this.#perform('open', path, () => {
      const known = this.#names.get(path);
      if (known === undefined && mode === 'read') throw new DiskError('notFound', 'open', path);
      if (known !== undefined && mode === 'create') throw new DiskError('exists', 'open', path);
      const file = new JournalFile(this, path, known ?? this.#create(path));
      this.#open.add(file);
      return file;
    });
  }

  close(file: JournalFile): Promise<void> {
    this.#open.delete(file);
    return Promise.resolve();
  }

  rename(from: string, to: string): Promise<void> {
    return this.#perform('rename', from, () => {
      const number = this.#names.get(from);
      if (number === undefined) throw new DiskError('notFound', 'rename', from);
      this.#names.delete(from);
      this.#names.set(to, number);
    });
  }

  remove(path: string): Promise<void> {
    return this.#perform('remove', path, () => {
      if (!this.#names.delete(path)) throw new DiskError('notFound', 'remove', path);
    });
  }

  list(directory: string): Promise<readonly string[]> {
    return this.#perform('list', directory, () => {
      const inside = [...this.#names.keys()].filter((path) => parentOf(path) === directory);
      return inside.map((path) => path.slice(directory.length + 1)).toSorted();
    });
  }

  makeDirectory(directory: string): Promise<void> {
    return this.#perform('makeDirectory', directory, () => undefined);
  }

  syncDirectory(directory: string): Promise<void> {
    return this.#perform('syncDirectory', directory, () => {
      for (const path of [...this.#durableNames.keys()]) {
        if (parentOf(path) === directory && !this.#names.has(path)) this.#durableNames.delete(path);
      }
      for (const [path, number] of this.#names) {
        if (parentOf(path) === directory) this.#durableNames.set(path, number);
      }
    });
  }

  size(path: string): Promise<number | undefined> {
    return this.#perform('size', path, () => {
      const number = this.#names.get(path);
      return number === undefined ? undefined : this.#inode(number).bytes.length;
    });
  }

  lock(path: string): Promise<DiskLock> {
    return this.#perform('lock', path, () => {
      if (this.#locks.has(path)) throw new DiskError('locked', 'lock', path);
      this.#locks.add(path);
      if (!this.#names.has(path)) this.#create(path);
      return { release: () => this.#perform('lock', path, () => void this.#locks.delete(path)) };
    });
  }

  readAt(path: string, number: number, into: Uint8Array, offset: number): Promise<number> {
    return this.#perform('read', path, () => {
      const wanted = Math.min(into.length, this.chunkBytesMax);
      const { bytes } = this.#inode(number);
      return offset >= bytes.length ? 0 : bytes.copy(into, 0, offset, offset + wanted);
    });
  }

  writeAt(path: string, number: number, chunks: readonly Uint8Array[], offset: number): Promise<number> {
    return this.#perform('write', path, () => {
      const bytes = Buffer.concat(chunks).subarray(0, this.chunkBytesMax);
      this.#change(number, { kind: 'write', offset, bytes });
      return bytes.length;
    });
  }

  /** The bytes become durable a few microtasks after the write: other operations may run meanwhile. */
  async writeDurably(
    path: string,
    number: number,
    chunks: readonly Uint8Array[],
    offset: number,
  ): Promise<number> {
    const bytes = Buffer.concat(chunks).subarray(0, this.chunkBytesMax);
    const change: PendingChange = { kind: 'write', offset, bytes };
    await this.#perform('write', path, () => this.#change(number, change));
    for (let turn = 0; turn < durableTurns; turn++) await Promise.resolve();
    const letGo = (): void => {
      const inode = this.#inode(number);
      inode.pending = inode.pending.filter((pending) => pending !== change);
    };
    const settle = (): void => {
      const inode = this.#inode(number);
      if (inode.pending.includes(change)) inode.durable = applyChange(inode.durable, change);
      letGo();
    };
    await this.#perform('sync', path, settle, letGo);
    return bytes.length;
  }

  truncate(path: string, number: number, length: number): Promise<void> {
    return this.#perform('truncate', path, () => this.#change(number, { kind: 'truncate', length }));
  }

  sync(path: string, number: number): Promise<void> {
    const inode = this.#inode(number);
    const settle = (): void => {
      // Not simply what readers see: what a failed sync lost stays lost until it is written again.
      inode.durable = inode.pending.reduce(applyChange, inode.durable);
      inode.pending = [];
    };
    // After a failed sync the kernel marks the pages clean: their content never reaches the disk.
    const lose = (): void => void (inode.pending = []);
    return this.#perform('sync', path, settle, lose);
  }

  sizeOf(path: string, number: number): Promise<number> {
    return this.#perform('size', path, () => this.#inode(number).bytes.length);
  }

  #perform<T>(operation: DiskOperation, path: string, act: () => T, onFailure?: () => void): Promise<T> {
    if (this.#halted) return forever();
    const failure = this.#watch(operation, path) === 'fail' ? failureOf(operation) : undefined;
    if (failure !== undefined) {
      onFailure?.();
      return Promise.reject(new DiskError(failure, operation, path));
    }
    try {
      const result = act();
      return Promise.resolve(result).then((value) => (this.#halted ? forever<T>() : value));
    } catch (error) {
      if (error instanceof DiskError) return Promise.reject(error);
      throw error;
    }
  }

  #create(path: string): number {
    const number = this.#nextInode++;
    this.#inodes.set(number, { number, bytes: noBytes, durable: noBytes, pending: [] });
    this.#names.set(path, number);
    return number;
  }

  #change(number: number, change: PendingChange): void {
    const inode = this.#inode(number);
    inode.bytes = applyChange(inode.bytes, change);
    inode.pending = [...inode.pending, change];
  }

  #inode(number: number): Inode {
    const inode = this.#inodes.get(number);
    assert(inode !== undefined, 'a name leads to a file');
    return inode;
  }
}

class JournalFile implements DiskFile {
  readonly path: string;
  readonly #disk: JournalDisk;
  readonly #number: number;

  constructor(disk: JournalDisk, path: string, number: number) {
    this.#disk = disk;
    this.path = path;
    this.#number = number;
  }

  size(): Promise<number> {
    return this.#disk.sizeOf(this.path, this.#number);
  }

  readAt(into: Uint8Array, offset: number): Promise<number> {
    return this.#disk.readAt(this.path, this.#number, into, offset);
  }

  writeAt(chunks: readonly Uint8Array[], offset: number): Promise<number> {
    return this.#disk.writeAt(this.path, this.#number, chunks, offset);
  }

  writeDurably(chunks: readonly Uint8Array[], offset: number): Promise<number> {
    return this.#disk.writeDurably(this.path, this.#number, chunks, offset);
  }

  sync(): Promise<void> {
    return this.#disk.sync(this.path, this.#number);
  }

  truncate(length: number): Promise<void> {
    return this.#disk.truncate(this.path, this.#number, length);
  }

  close(): Promise<void> {
    return this.#disk.close(this);
  }
}

const noBytes: Buffer = Buffer.alloc(0);
/** Microtasks from a durable write to its durability. */
const durableTurns = 12;

/** The bytes after a change; the argument is not modified. */
export function applyChange(bytes: Buffer, change: PendingChange): Buffer {
  const length = change.kind === 'truncate' ? change.length : change.offset + change.bytes.length;
  const changed = Buffer.alloc(change.kind === 'truncate' ? length : Math.max(length, bytes.length));
  bytes.copy(changed);
  if (change.kind === 'write') change.bytes.copy(changed, change.offset);
  return changed;
}

function failureOf(operation: DiskOperation): DiskFailure {
  return operation === 'write' ? 'noSpace' : 'fault';
}

function forever<T>(): Promise<T> {
  return new Deferred<T>().promise;
}
