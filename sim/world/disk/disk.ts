/**
 * The disk of a host, which outlives the incarnations on it: names, files, locks, what was written and what is durable,
 * and the faults that act on it. `disk-port.ts` is the port of an incarnation.
 */
import { assert } from '../../../engine/base/assert.ts';
import type { DiskOperation } from '../../../engine/io/disk.ts';
import { DiskError, parentOf } from '../../../engine/io/disk.ts';
import type { DiskCopy } from './disk-copy.ts';
import { certainFiles, copyOf, currentFiles, layDown } from './disk-copy.ts';
import type { DiskFault } from './disk-fault.ts';
import { DiskFaults } from './disk-fault.ts';
import type { DurableListener } from './durable-runs.ts';
import { DurableRuns } from './durable-runs.ts';
import type { Covered, Survival } from './file-image.ts';
import { FileImage, sectorBytes } from './file-image.ts';
import type { WorldContext } from '../core/world-context.ts';
import type { Effect, FaultId } from '../core/fault-log.ts';
import type { Incarnation } from '../cluster/incarnation.ts';
import { Directory, Names } from './directory-entries.ts';
import type { WorldRandom } from '../core/random.ts';
import type { DiskWatcher } from '../core/watchers.ts';
import type { OpenFile, Write, Written } from './pending-writes.ts';
import { WritesUnderWay } from './pending-writes.ts';

/** The disk of one host. */
export class HostDisk {
  readonly watchers: DiskWatcher[] = [];
  readonly #ground: WorldContext;
  readonly #host: string;
  readonly #random: WorldRandom;
  readonly #names = new Names();
  readonly #faults: DiskFaults;
  readonly #open = new Set<OpenFile>();
  readonly #writes = new WritesUnderWay();
  readonly #locks = new Map<string, Incarnation>();
  readonly #durableRuns: DurableRuns;
  #capacityBytes = Infinity;
  #transferBytesMax = Infinity;
  #fileCount = 0;

  constructor(ground: WorldContext, host: string) {
    this.#ground = ground;
    this.#host = host;
    this.#random = ground.random.fork(`disk/${host}`);
    this.#durableRuns = new DurableRuns(host, this.#names);
    this.#faults = new DiskFaults(ground.ledger, host, this.#random.fork('faults'));
  }

  /**
   * Injects a fault of operations (`read-error`, `write-error`, `sync-error`, `slow-disk`, `lying-sync`,
   * `misdirected-io`) until it is lifted, or its count is used up.
   */
  inject(fault: DiskFault): { lift(): void } {
    return this.#faults.inject(fault);
  }

  /**
   * `disk-full`: how many bytes fit; undefined for no limit. A write fills the space there is, and the next one fails.
   */
  setCapacity(bytes: number | undefined): void {
    this.#capacityBytes = bytes ?? Infinity;
    if (bytes !== undefined) this.#ground.ledger.enter('disk-full', this.#host, 'injected');
  }

  /** No read or write moves more bytes than this; undefined for no limit. */
  limitTransfers(bytesMax: number | undefined): void {
    this.#transferBytesMax = bytesMax ?? Infinity;
  }

  /** `bit-rot`: flips one bit of a file, durably; false if there is no such byte. */
  rot(path: string, offset: number, bit: number): boolean {
    if (this.#names.file(path)?.rot(offset, bit) !== true) return false;
    this.#ground.ledger.enter('bit-rot', `${this.#host}:${path}`, 'injected');
    this.#tellAltered(path, offset, offset + 1, 'bit-rot');
    return true;
  }

  /** `disk-wipe`: removes everything. Only between two incarnations. */
  wipe(): void {
    this.#replace('disk-wipe', { files: new Map(), directories: [] });
  }

  /** What is on the disk now, for `mount`. */
  copy(): DiskCopy {
    return copyOf(this.#names, currentFiles(this.#names));
  }

  /** What every crash now would leave: an image as storage takes it beneath a running system. */
  durableCopy(): DiskCopy {
    return copyOf(this.#names, certainFiles(this.#names));
  }

  /**
   * `disk-rollback` (an older copy of this disk), `foreign-disk` (a copy of another disk). Only between two
   * incarnations.
   */
  mount(kind: 'disk-rollback' | 'foreign-disk', copy: DiskCopy): void {
    this.#replace(kind, copy);
  }

  /** Makes the disk what it was when it was copied. Only between two incarnations. */
  restore(copy: DiskCopy): void {
    this.#replace(undefined, copy);
  }

  /** `log-truncation`: keeps the first bytes of a file, durably; false if it is not longer than that. */
  cutShort(path: string, bytes: number): boolean {
    const image = this.#names.file(path);
    if (image === undefined || image.length <= bytes) return false;
    this.#tellAltered(path, bytes, image.length, 'log-truncation');
    image.truncate(bytes);
    image.finishSync(image.beginSync());
    this.#ground.ledger.enter('log-truncation', `${this.#host}:${path}`, 'injected');
    return true;
  }

  /** `file-loss`: removes or empties a file, durably. Only between two incarnations; false if there is no such file. */
  loseFile(path: string, how: 'removed' | 'emptied'): boolean {
    assert(this.#open.size === 0, 'a file is lost between two lives');
    const image = this.#names.file(path);
    if (image === undefined) return false;
    this.#tellAltered(path, 0, image.length, 'file-loss');
    if (how === 'removed') {
      this.#names.remove(path);
      this.#names.sync(parentOf(path));
    } else {
      image.truncate(0);
      image.finishSync(image.beginSync());
    }
    this.#ground.ledger.enter('file-loss', `${this.#host}:${path}`, 'injected');
    return true;
  }

  get usedBytes(): number {
    return this.#names.files().reduce((sum, [, image]) => sum + image.length, 0);
  }

  /** Lifts every injected fault, the capacity and the limit of transfers. */
  heal(): void {
    this.#faults.clear();
    this.#capacityBytes = Infinity;
    this.#transferBytesMax = Infinity;
  }

  /** Files that every crash now would leave, with the bytes that it would leave, ordered by path. */
  durableFiles(): ReadonlyMap<string, Buffer> {
    return certainFiles(this.#names);
  }

  /** What every crash now would leave of the file; undefined if it may leave none. */
  durableFile(path: string): Buffer | undefined {
    return this.#names.durableFile(path)?.durable;
  }

  /**
   * The file as the running system sees it; undefined if there is none. It differs from `durableFile` after a process has
   * died, for example, whose last rename was not synced. A view that must not be kept.
   */
  currentFile(path: string): Buffer | undefined {
    const image = this.#names.file(path);
    return image?.view(0, image.length);
  }

  /** Calls `listener` for every run of bytes at the moment it becomes durable under a durable name. */
  onDurable(listener: DurableListener): void {
    this.#durableRuns.listen(listener);
  }

  /** Reports every write and sync to `watcher`. */
  watch(watcher: DiskWatcher): void {
    this.watchers.push(watcher);
  }

  /** Number of names, for the memory that a process needs to know them. */
  get nameCount(): number {
    return this.#names.count;
  }

  /**
   * The incarnation that used the disk is over: its handles and locks are gone; its files are what `survival` leaves.
   */
  endLife(survival: Survival, cause: FaultId | undefined): void {
    this.#writes.abandon(this.#random);
    this.#open.clear();
    this.#locks.clear();
    if (survival === 'keepAll') for (const [, image] of this.#names.files()) image.abandonSyncs();
    else this.#losePower(survival, cause);
  }

  #losePower(survival: Survival, cause: FaultId | undefined): void {
    for (const image of this.#names.images()) {
      const sectors = image.losePower(survival, this.#random);
      this.#enterCrash(cause, 'sectorKept', sectors.kept);
      this.#enterCrash(cause, 'sectorDropped', sectors.dropped);
      this.#enterCrash(cause, 'sectorTorn', sectors.torn);
    }
    const names = this.#names.losePower(survival, this.#random, () => ++this.#fileCount);
    this.#enterCrash(cause, 'nameKept', names.kept);
    this.#enterCrash(cause, 'nameReverted', names.reverted);
    this.#durableRuns.tellAll();
  }

  // What the port calls.

  get random(): WorldRandom {
    return this.#random;
  }

  delayUs(operation: DiskOperation, path: string): number {
    return this.#faults.delayUs(operation, path);
  }

  open(path: string, mode: 'read' | 'readWrite' | 'create'): OpenFile {
    const entry = this.#names.get(path);
    if (entry instanceof Directory) throw new DiskError('invalid', 'open', path);
    if (entry !== undefined && mode === 'create') throw new DiskError('exists', 'open', path);
    if (entry === undefined && (mode === 'read' || !this.#names.isDirectory(parentOf(path)))) {
      throw new DiskError('notFound', 'open', path);
    }
    const image = entry ?? new FileImage(++this.#fileCount);
    if (entry === undefined) this.#names.set(path, image);
    const file = { image, path };
    this.#open.add(file);
    return file;
  }

  close(file: OpenFile): void {
    this.#open.delete(file);
  }

  read(file: OpenFile, into: Uint8Array, offset: number): number {
    const place = `${this.#host}:${file.path}`;
    if (this.#faults.strike('read-error', file.path, undefined, offset) !== undefined) {
      this.#ground.ledger.enter('read-error', place, 'operationFailed');
      throw new DiskError('fault', 'read', file.path);
    }
    const from = this.#aimRead(file, offset, into.length);
    const count = file.image.read(into, from, this.#drawTransfer(into.length, 'read-error', file.path));
    const altered = file.image.alteredIn(from, from + count);
    if (altered.length > 0) this.#ground.ledger.enter('bit-rot', place, 'rottenRead');
    return count;
  }

  beginWrite(write: Write): void {
    if (this.#writes.begin(write)) return;
    this.#ground.fail(
      this.#host,
      'disk',
      new Error(`two writes to ${write.file.path} overlap while under way`),
    );
  }

  finishWrite(write: Write): Written {
    const { file, chunks, offset, bytes } = write;
    this.#writes.end(write);
    if (bytes === 0) return { count: 0, at: offset, before: undefined };
    this.#failWrite(write);
    const room = this.#room(file, offset, bytes);
    if (room === 0) {
      this.#ground.ledger.enter('disk-full', `${this.#host}:${file.path}`, 'operationFailed');
      throw new DiskError('noSpace', 'write', file.path);
    }
    const count = this.#drawTransfer(Math.min(bytes, room), 'write-error', file.path);
    const at = this.#aim(file, offset);
    const before = at === offset ? undefined : Buffer.from(file.image.view(0, file.image.length));
    file.image.write(chunks, at, count);
    if (at !== offset) this.#noteMisdirected(file, offset, at, count);
    return { count, at, before };
  }

  /** Makes the bytes of a durable write durable, just after they were written. Returns how many are. */
  finishDurably(file: OpenFile, from: number, to: number): number {
    if (!this.#syncs(file, [from, to], () => file.image.dropRange(from, to))) return 0;
    const bytes = file.image.syncRange(from, to);
    this.#durableRuns.tellRanges(file.path, file.image, [from, to]);
    return bytes;
  }

  truncate(file: OpenFile, length: number): void {
    file.image.truncate(length);
  }

  beginSync(file: OpenFile): Covered {
    return file.image.beginSync();
  }

  /** Returns how many bytes became durable. */
  finishSync(file: OpenFile, covered: Covered): number {
    if (!this.#syncs(file, covered.ranges, () => file.image.dropSync(covered))) return 0;
    const bytes = file.image.finishSync(covered);
    this.#durableRuns.tellRanges(file.path, file.image, covered.ranges);
    return bytes;
  }

  rename(from: string, to: string): FileImage {
    const image = this.#names.file(from);
    if (image === undefined) throw this.#absent('rename', from);
    if (!this.#names.isDirectory(parentOf(to))) throw new DiskError('notFound', 'rename', from);
    if (this.#names.isDirectory(to)) throw new DiskError('invalid', 'rename', from);
    if (from === to) return image;
    this.#names.remove(from);
    this.#names.set(to, image);
    for (const file of this.#open) if (file.image === image) file.path = to;
    return image;
  }

  remove(path: string): FileImage {
    const image = this.#names.file(path);
    if (image === undefined) throw this.#absent('remove', path);
    this.#names.remove(path);
    return image;
  }

  list(directory: string): readonly string[] {
    if (!this.#names.isDirectory(directory)) throw new DiskError('notFound', 'list', directory);
    return this.#names.list(directory).sort();
  }

  /** Creates a directory and its parents, durably. */
  makeDirectory(directory: string): void {
    const parts = directory === '' ? [] : directory.split('/');
    for (let depth = 1; depth <= parts.length; depth++) {
      const path = parts.slice(0, depth).join('/');
      if (this.#names.file(path) !== undefined) throw new DiskError('exists', 'makeDirectory', path);
      if (!this.#names.isDirectory(path)) this.#names.set(path, new Directory());
      this.syncDirectory(parentOf(path));
    }
  }

  /** Returns how many names became durable. */
  syncDirectory(directory: string): number {
    if (!this.#names.isDirectory(directory)) throw new DiskError('notFound', 'syncDirectory', directory);
    const paths = this.#names.sync(directory);
    this.#durableRuns.tellNames(paths);
    return paths.length;
  }

  size(path: string): number | undefined {
    return this.#names.file(path)?.length;
  }

  lock(path: string, life: Incarnation): void {
    if (!this.#names.isDirectory(parentOf(path))) throw new DiskError('notFound', 'lock', path);
    if (this.#locks.has(path)) throw new DiskError('locked', 'lock', path);
    if (this.#names.get(path) === undefined) this.#names.set(path, new Directory());
    this.#locks.set(path, life);
  }

  unlock(path: string, life: Incarnation): void {
    if (this.#locks.get(path) === life) this.#locks.delete(path);
  }

  /** `write-error`: an error in the middle of a write, of which an unknown part was written. */
  #failWrite({ file, chunks, offset, bytes }: Write): void {
    const fault = this.#faults.strike('write-error', file.path);
    if (fault === undefined) return;
    const { failure = 'fault' } = fault;
    const count = failure === 'fault' ? this.#random.below(bytes) : 0;
    if (count > 0) file.image.write(chunks, offset, count);
    this.#ground.ledger.enter('write-error', `${this.#host}:${file.path}`, 'operationFailed');
    throw new DiskError(failure, 'write', file.path);
  }

  /** `sync-error`: throws; `lying-sync`: returns false. In both cases `drop` forgets what would have become durable. */
  #syncs(file: OpenFile, ranges: readonly number[], drop: () => void): boolean {
    const place = `${this.#host}:${file.path}`;
    if (this.#faults.strike('sync-error', file.path) !== undefined) {
      drop();
      this.#ground.ledger.enter('sync-error', place, 'operationFailed');
      throw new DiskError('fault', 'sync', file.path);
    }
    if (this.#faults.strike('lying-sync', file.path) === undefined) return true;
    drop();
    this.#ground.ledger.enter('lying-sync', place, 'syncLied');
    for (let index = 0; index + 1 < ranges.length; index += 2) {
      const [from = 0, to = 0] = ranges.slice(index, index + 2);
      this.#tellAltered(file.path, from, to, 'lying-sync');
      for (const watcher of this.watchers)
        watcher.lied?.(this.#host, file.path, file.image.view(0, to), from, to);
    }
    return false;
  }

  /** `misdirected-io`: where a write really goes: elsewhere in the file, by whole sectors. */
  #aim(file: OpenFile, offset: number): number {
    if (this.#faults.strike('misdirected-io', file.path, 'write') === undefined) return offset;
    const sectors = Math.max(1, Math.floor(file.image.length / sectorBytes));
    this.#ground.ledger.enter('misdirected-io', `${this.#host}:${file.path}`, 'writeMisdirected');
    return this.#random.below(sectors) * sectorBytes + (offset % sectorBytes);
  }

  /** `misdirected-io`: where a read really reads: whole sectors away, within the file. */
  #aimRead(file: OpenFile, offset: number, bytes: number): number {
    const sectors = Math.floor((file.image.length - bytes - (offset % sectorBytes)) / sectorBytes);
    if (sectors <= 0 || this.#faults.strike('misdirected-io', file.path, 'read') === undefined) return offset;
    this.#ground.ledger.enter('misdirected-io', `${this.#host}:${file.path}`, 'readMisdirected');
    this.#tellAltered(file.path, offset, offset + bytes, 'misdirected-io');
    return this.#random.below(sectors + 1) * sectorBytes + (offset % sectorBytes);
  }

  /** The file differs from what its writer believes both where the bytes belong and where they went. */
  #noteMisdirected(file: OpenFile, offset: number, at: number, count: number): void {
    for (const from of [offset, at]) {
      file.image.noteAltered(from, from + count);
      this.#tellAltered(file.path, from, from + count, 'misdirected-io');
    }
  }

  #tellAltered(path: string, from: number, to: number, kind: FaultId): void {
    for (const watcher of this.watchers) watcher.altered?.(this.#host, path, from, to, kind);
  }

  /** How many of `bytes` a read or write moves this time. */
  #drawTransfer(bytes: number, kind: FaultId, path: string): number {
    const { shortOneIn } = this.#ground.tuning.disk;
    if (bytes > 1 && shortOneIn > 0 && this.#random.below(shortOneIn) === 0) {
      this.#ground.ledger.enter(kind, `${this.#host}:${path}`, 'operationShort');
      return Math.min(1 + this.#random.below(bytes - 1), this.#transferBytesMax);
    }
    return Math.min(bytes, this.#transferBytesMax);
  }

  /** How many of `bytes` at `offset` still fit. */
  #room(file: OpenFile, offset: number, bytes: number): number {
    if (this.#capacityBytes === Infinity) return bytes;
    const freeBytes = Math.max(0, this.#capacityBytes - this.usedBytes);
    return Math.min(bytes, Math.max(0, file.image.length - offset) + freeBytes);
  }

  #absent(operation: DiskOperation, path: string): DiskError {
    return new DiskError(this.#names.isDirectory(path) ? 'invalid' : 'notFound', operation, path);
  }

  #replace(kind: FaultId | undefined, copy: DiskCopy): void {
    assert(this.#open.size === 0, 'a disk is changed between two lives');
    layDown(this.#names, copy, () => ++this.#fileCount);
    if (kind === undefined) return;
    this.#ground.ledger.enter(kind, this.#host, 'injected');
    this.#tellAltered('', 0, Infinity, kind);
  }

  #enterCrash(cause: FaultId | undefined, effect: Effect, count: number): void {
    if (cause !== undefined && count > 0) this.#ground.ledger.enter(cause, this.#host, effect, count);
  }
}
