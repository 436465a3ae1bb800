/**
 * The disk port of one incarnation. Every call is answered in a separate event, after the latency of its kind; its
 * effect on the disk happens in that event, just before the answer. Only a sync looks at the disk when it is called: it
 * covers the writes that had been answered by then.
 */
import { Deferred } from '../../../engine/base/deferred.ts';
import type { Disk, DiskFile, DiskLock, DiskOperation, OpenMode } from '../../../engine/io/disk.ts';
import { DiskError } from '../../../engine/io/disk.ts';
import type { HostDisk } from './disk.ts';
import type { Latency } from '../core/latency.ts';
import { drawLatency } from '../core/latency.ts';
import type { Holding, Incarnation } from '../cluster/incarnation.ts';
import type { TimelineEvent } from '../core/timeline.ts';
import { worldEvents } from '../core/trace.ts';
import type { DiskWatcher } from '../core/watchers.ts';
import { IntendedContent } from './intended-content.ts';
import type { OpenFile, Write, Written } from './pending-writes.ts';

/** The disk port of one incarnation. */
export class IncarnationDisk implements Disk {
  readonly life: Incarnation;
  readonly host: HostDisk;

  constructor(life: Incarnation, host: HostDisk) {
    this.life = life;
    this.host = host;
  }

  open(path: string, mode: OpenMode): Promise<DiskFile> {
    return this.#named('open', path, () => {
      const file = this.host.open(path, mode);
      this.#happened(worldEvents.fileOpened, file.image.id, 0, path);
      return new LifeFile(this, file, mode !== 'read');
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#named('rename', from, () => {
      checkPath('rename', to);
      const image = this.host.rename(from, to);
      this.#happened(worldEvents.nameRenamed, image.id, 0, to);
    });
  }

  remove(path: string): Promise<void> {
    return this.#named('remove', path, () => {
      const image = this.host.remove(path);
      this.#happened(worldEvents.nameRemoved, image.id, 0, path);
    });
  }

  list(directory: string): Promise<readonly string[]> {
    return this.#inDirectory('list', directory, () => {
      const names = this.host.list(directory);
      this.#happened(worldEvents.diskLooked, 0, 0, directory);
      return names;
    });
  }

  makeDirectory(directory: string): Promise<void> {
    return this.#inDirectory('makeDirectory', directory, () => {
      this.host.makeDirectory(directory);
      this.#happened(worldEvents.directoryMade, 0, 0, directory);
    });
  }

  syncDirectory(directory: string): Promise<void> {
    return this.#inDirectory('syncDirectory', directory, () => {
      const names = this.host.syncDirectory(directory);
      this.#happened(worldEvents.directorySynced, names, 0, directory);
    });
  }

  size(path: string): Promise<number | undefined> {
    return this.#named('size', path, () => {
      const size = this.host.size(path);
      this.#happened(worldEvents.diskLooked, 0, 0, path);
      return size;
    });
  }

  lock(path: string): Promise<DiskLock> {
    return this.#named('lock', path, () => {
      this.host.lock(path, this.life);
      this.#happened(worldEvents.diskLocked, 0, 0, path);
      return new LifeLock(this, path);
    });
  }

  /**
   * Answers a call in a separate event. Only a `DiskError` is the disk's answer; any other error of `perform` is a
   * failure of the world.
   */
  operate<T>(
    operation: DiskOperation,
    path: string,
    latency: Latency,
    perform: () => T,
    moreUs = 0,
  ): Promise<T> {
    const { life, host } = this;
    if (!life.awake()) return life.silence();
    const outcome = new Deferred<T>();
    const { timeline } = life.ground;
    const operating: TimelineEvent = {
      owner: life,
      happen: () => {
        if (!life.mayRun(operating)) return false;
        this.#settle(outcome, path, perform);
        return true;
      },
    };
    const delayUs = drawLatency(host.random, latency) + host.delayUs(operation, path) + moreUs;
    timeline.schedule(timeline.nowUs + delayUs, operating);
    return outcome.promise;
  }

  #settle<T>(outcome: Deferred<T>, path: string, perform: () => T): void {
    try {
      const value = perform();
      // A listener of the trace may have ended the incarnation.
      if (this.life.alive) outcome.resolve(value);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      // A durable write may fail at its sync: watchers get the operation that really failed.
      const { operation, failure } = error;
      for (const watcher of this.host.watchers) {
        watcher.failed?.(this.life.host, this.life.number, operation, path, failure);
      }
      this.#happened(worldEvents.diskFailed, 0, 0, `${operation} ${path}: ${failure}`);
      if (this.life.alive) outcome.reject(error);
    }
  }

  #named<T>(operation: DiskOperation, path: string, perform: () => T): Promise<T> {
    return this.operate(operation, path, this.life.ground.tuning.disk.nameLatency, () => {
      checkPath(operation, path);
      return perform();
    });
  }

  #inDirectory<T>(operation: DiskOperation, directory: string, perform: () => T): Promise<T> {
    const { nameLatency, syncLatency } = this.life.ground.tuning.disk;
    const latency = operation === 'list' ? nameLatency : syncLatency;
    return this.operate(operation, directory, latency, () => {
      if (directory !== '') checkPath(operation, directory);
      return perform();
    });
  }

  #happened(kind: (typeof worldEvents)[keyof typeof worldEvents], a: number, b: number, text: string): void {
    this.life.ground.trace.happened(kind, this.life.hostIndex, a, b, text);
  }
}

class LifeFile implements DiskFile, Holding {
  readonly #disk: IncarnationDisk;
  readonly #file: OpenFile;
  readonly #writable: boolean;
  readonly path: string;
  /** Undefined while every write has gone where it was aimed. */
  #intended: IntendedContent | undefined;
  #closed = false;

  constructor(disk: IncarnationDisk, file: OpenFile, writable: boolean) {
    this.#disk = disk;
    this.#file = file;
    this.path = file.path;
    this.#writable = writable;
    disk.life.files.add(this);
  }

  describe(): string {
    return this.path;
  }

  size(): Promise<number> {
    return this.#operate('size', this.#tuning.nameLatency, () => {
      this.#happened(worldEvents.fileRead, 0);
      return this.#file.image.length;
    });
  }

  readAt(into: Uint8Array, offset: number): Promise<number> {
    return this.#operate('read', this.#tuning.readLatency, () => {
      const count = this.#disk.host.read(this.#file, into, offset);
      this.#tellHanded(offset, offset + count);
      this.#happened(worldEvents.fileRead, count);
      return count;
    });
  }

  writeAt(chunks: readonly Uint8Array[], offset: number): Promise<number> {
    if (!this.#writable) return this.#refuse('write');
    if (this.#closed || !this.#disk.life.alive)
      return this.#operate('write', this.#tuning.writeLatency, () => 0);
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const write = { file: this.#file, chunks, offset, bytes };
    this.#beginWrite(write);
    return this.#operate('write', this.#tuning.writeLatency, () => this.#finishWrite(write).count);
  }

  writeDurably(chunks: readonly Uint8Array[], offset: number): Promise<number> {
    if (!this.#writable) return this.#refuse('write');
    if (this.#closed || !this.#disk.life.alive)
      return this.#operate('write', this.#tuning.syncLatency, () => 0);
    const { host, life } = this.#disk;
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const write = { file: this.#file, chunks, offset, bytes };
    this.#beginWrite(write);
    const perform = (): number => {
      const { count, at } = this.#finishWrite(write);
      // A watcher of the write may have ended the incarnation before the bytes were durable.
      if (!life.alive) return count;
      const durable = host.finishDurably(this.#file, at, at + count);
      this.#happened(worldEvents.fileSynced, durable);
      return count;
    };
    const syncUs = drawLatency(host.random, this.#tuning.syncLatency) + host.delayUs('sync', this.path);
    return this.#disk.operate('write', this.path, this.#tuning.writeLatency, perform, syncUs);
  }

  #tellHanded(from: number, to: number): void {
    const { life, host } = this.#disk;
    const altered = this.#file.image.alteredIn(from, to);
    for (let index = 0; index + 1 < altered.length; index += 2) {
      for (const watcher of host.watchers) {
        watcher.handed?.(life.host, life.number, this.path, altered[index] ?? 0, altered[index + 1] ?? 0);
      }
    }
  }

  #beginWrite(write: Write): void {
    const { life, host } = this.#disk;
    const { chunks, offset } = write;
    for (const watcher of host.watchers) watcher.writes?.(life.host, life.number, this.path, chunks, offset);
    host.beginWrite(write);
  }

  #finishWrite(write: Write): Written {
    const { life, host } = this.#disk;
    const written = host.finishWrite(write);
    const { chunks, offset } = write;
    const { count, before } = written;
    if (before !== undefined) this.#intended ??= new IntendedContent(before);
    this.#intended?.write(chunks, offset, count);
    if (host.watchers.some(hearsOfWrites)) {
      const { image } = this.#file;
      const whole = this.#intended?.view() ?? image.view(0, image.length);
      const content = whole.subarray(0, offset + count);
      for (const watcher of host.watchers) {
        watcher.wrote?.(life.host, life.number, this.path, content, offset, whole);
      }
    }
    this.#happened(worldEvents.fileWritten, count, this.#file.image.view(offset, offset + count));
    return written;
  }

  sync(): Promise<void> {
    if (this.#closed || !this.#disk.life.alive) {
      return this.#operate('sync', this.#tuning.syncLatency, () => undefined);
    }
    const covered = this.#disk.host.beginSync(this.#file);
    return this.#operate('sync', this.#tuning.syncLatency, () => {
      const bytes = this.#disk.host.finishSync(this.#file, covered);
      this.#happened(worldEvents.fileSynced, bytes);
    });
  }

  truncate(length: number): Promise<void> {
    if (!this.#writable) return this.#refuse('truncate');
    return this.#operate('truncate', this.#tuning.nameLatency, () => {
      this.#disk.host.truncate(this.#file, length);
      this.#intended?.truncate(length);
      this.#happened(worldEvents.fileTruncated, length);
    });
  }

  close(): Promise<void> {
    const { life, host } = this.#disk;
    if (life.alive && !this.#closed) {
      this.#closed = true;
      life.files.delete(this);
      host.close(this.#file);
    }
    return this.#disk.operate('open', this.path, this.#tuning.nameLatency, () => undefined);
  }

  get #tuning(): { readLatency: Latency; writeLatency: Latency; syncLatency: Latency; nameLatency: Latency } {
    return this.#disk.life.ground.tuning.disk;
  }

  #operate<T>(operation: DiskOperation, latency: Latency, perform: () => T): Promise<T> {
    if (!this.#closed) return this.#disk.operate(operation, this.path, latency, perform);
    return this.#disk.operate<T>(operation, this.path, latency, () => {
      throw new DiskError('closed', operation, this.path);
    });
  }

  #refuse<T>(operation: DiskOperation): Promise<T> {
    return this.#operate<T>(operation, this.#tuning.nameLatency, () => {
      throw new DiskError('invalid', operation, this.path);
    });
  }

  #happened(kind: (typeof worldEvents)[keyof typeof worldEvents], bytes: number, content?: Uint8Array): void {
    const { life } = this.#disk;
    life.ground.trace.happened(kind, life.hostIndex, this.#file.image.id, bytes, this.path, content);
  }
}

class LifeLock implements DiskLock, Holding {
  readonly #disk: IncarnationDisk;
  readonly #path: string;

  constructor(disk: IncarnationDisk, path: string) {
    this.#disk = disk;
    this.#path = path;
    disk.life.locks.add(this);
  }

  describe(): string {
    return this.#path;
  }

  release(): Promise<void> {
    const { life, host } = this.#disk;
    if (life.locks.delete(this)) host.unlock(this.#path, life);
    return this.#disk.operate('lock', this.#path, life.ground.tuning.disk.nameLatency, () => undefined);
  }
}

/** Without such a watcher, a write creates no views of its file. */
function hearsOfWrites(watcher: DiskWatcher): boolean {
  return watcher.wrote !== undefined;
}

/** Refuses paths that leave the directory or are not in normal form. */
function checkPath(operation: DiskOperation, path: string): void {
  const plain = path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
  if (!plain || path.includes('\0')) throw new DiskError('invalid', operation, path);
}
