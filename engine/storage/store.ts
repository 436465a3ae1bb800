/**
 * The store: a durable map from packed keys to values in one directory, after Bitcask (Sheehy and Smith, "Bitcask: A
 * Log-Structured Hash Table for Fast Key/Value Data", 2010). It has an append-only log of checksummed record groups, a
 * key directory in memory, and merges that copy live records and remove the rest.
 *
 * Guarantees: a batch is applied whole or not at all. Once `done` is called without an error, the batch survives a
 * crash (sync mode `always`). A read returns only durable values and never waits for a write. It never returns bytes
 * that do not match their checksum, or an older value in place of a lost newer one, but fails with `Corrupted`. After a
 * failed write or sync the store takes no more writes until it is opened again; reads continue. If the cause was a full
 * disk, it reports when there is space again.
 *
 * Not guaranteed: that more keys fit than memory holds (about 78 bytes each beyond the key); any order of keys.
 *
 * The parts: `log/` (the bytes, files and writes), `index/` (keys and values in memory), `recovery/` (starts, damage),
 * `compaction/` (merges in the background), `cold-read.ts` and `free-space-probe.ts`. Callers use it through
 * `driver.ts`, which is bounded.
 */
import { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { viewOf } from '../base/views.ts';
import { sometimes } from '../base/sometimes.ts';
import type { DiskLock } from '../io/disk.ts';
import type { StoreIo } from './store-io.ts';
import type { Catalog } from './log/segment-catalog.ts';
import type { ExpectedRecord } from './cold-read.ts';
import { readRecord } from './cold-read.ts';
import type { Damage, Damages, DamageFinder } from './recovery/damage.ts';
import { asStoreError, lacksSpace, lostKey } from './faults.ts';
import { Fingerprints } from './index/fingerprints.ts';
import type { StoreFigures } from './figures.ts';
import { GroupCommit } from './log/group-commit.ts';
import type { MergeReport } from './compaction/housekeeping.ts';
import { Housekeeping } from './compaction/housekeeping.ts';
import type { KeyDirectory } from './index/key-directory.ts';
import type { StoreOptions } from './options.ts';
import type { StoreWrite, WriteDone } from './log/record.ts';
import { groupBytes, recordBytes, keyBytesMax } from './log/record.ts';
import type { SegmentCheck } from './log/pinned-segments.ts';
import { PinnedSegments } from './log/pinned-segments.ts';
import { takeLock } from './recovery/lock.ts';
import { NewestRecords } from './index/newest-records.ts';
import type { Recovered, RecoveryReport } from './recovery/recovery.ts';
import { recover } from './recovery/recovery.ts';
import type { RescanContext } from './recovery/rescan.ts';
import { checkSegment, rescanValues } from './recovery/rescan.ts';
import type { Segment } from './log/segment.ts';
import { FreeSpaceProbe } from './free-space-probe.ts';
import { SpareFile } from './log/spare-file.ts';
import { ValueCache } from './index/value-cache.ts';

export type { StoreWrite, WriteDone } from './log/record.ts';

/** One open store. */
export class Store {
  readonly #io: StoreIo;
  readonly #lock: DiskLock;
  readonly #options: StoreOptions;
  readonly #catalog: Catalog;
  readonly #keys: KeyDirectory;
  readonly #cache: ValueCache;
  readonly #book: Damages;
  readonly #commit: GroupCommit;
  readonly #housekeeping: Housekeeping;
  readonly #probe: FreeSpaceProbe;
  readonly #check: SegmentCheck;
  readonly #onFailed: ((error: LockstepError) => void)[] = [];
  #onFlushed: ((tookUs: number) => void) | undefined;
  /** Its path at the disk port. */
  readonly directory: string;
  /** What the start found. */
  readonly recovery: RecoveryReport;
  /** The per-key fingerprints of anti-entropy. */
  readonly fingerprints: Fingerprints;
  #state: StoreState = 'open';
  #lacksRoom = false;

  private constructor(
    io: StoreIo,
    lock: DiskLock,
    directory: string,
    options: StoreOptions,
    recovered: Recovered,
  ) {
    this.#io = io;
    this.#lock = lock;
    this.directory = directory;
    this.#options = options;
    this.#catalog = recovered.catalog;
    if (options.sync.kind === 'always') this.#catalog.reuseFiles(new SpareFile(io, options));
    this.#keys = recovered.keys;
    this.#book = recovered.book;
    this.recovery = recovered.report;
    const lost: RescanContext['lost'] = (id, segment, foundBy) => this.#lost(id, segment, foundBy);
    const context = { catalog: this.#catalog, keys: this.#keys, book: this.#book, lost };
    this.#check = (segment, rest) => checkSegment(context, segment, rest);
    this.fingerprints = new Fingerprints(
      this.#keys,
      recovered.lastSeq,
      () => this.#commit.applyLanded(),
      rescanValues.bind(undefined, context),
    );
    this.#cache = new ValueCache(this.#keys, options.cacheBytes);
    const newest = new NewestRecords(this.#catalog, this.#keys, this.#cache, this.fingerprints);
    this.#commit = new GroupCommit(
      io,
      this.#catalog,
      options,
      {
        committed: (segment, chunks) => newest.apply(segment, chunks),
        rotated: () => this.#housekeeping.poke(),
        flushed: (tookUs) => this.#onFlushed?.(tookUs),
        failed: (error) => this.#fail(error),
      },
      recovered.lastSeq + 1,
    );
    this.#housekeeping = new Housekeeping(io, directory, options, {
      ...context,
      checks: io.checks,
      newestSeq: () => this.fingerprints.lastSeq,
      barrier: () => this.#commit.barrier(),
      failed: (error) => this.#commit.fail(error),
    });
    this.#probe = new FreeSpaceProbe(io, directory, options);
  }

  /**
   * Opens the store in a directory, or makes a new one there. Rejects with `DirectoryLocked`, `FormatUnsupported`,
   * `StoreForeign` (it belongs to another node), `Corrupted` (the manifest is lost or older than the segments) or
   * `StorageFailed` (the disk fails).
   */
  static async open(io: StoreIo, directory: string, options: StoreOptions): Promise<Store> {
    const lock = await takeLock(io, directory);
    try {
      const recovered = await recover(io, directory, options.nodeName);
      const store = new Store(io, lock, directory, options, recovered);
      io.log.event('info', 'store.opened', { directory, ...recovered.report });
      store.#housekeeping.poke();
      return store;
    } catch (error) {
      await lock.release();
      throw asStoreError(error, 'the store cannot be opened');
    }
  }

  /** Whether it takes writes, only reads, or neither. */
  get state(): StoreState {
    return this.#state;
  }

  /** Whether it takes no writes because its disk was full. */
  get lacksRoom(): boolean {
    return this.#lacksRoom;
  }

  /** Milliseconds since the epoch at which the store was made. */
  get createdMs(): number {
    return this.#catalog.identity.createdMs;
  }

  /** Number of keys. */
  get keyCount(): number {
    this.#commit.applyLanded();
    return this.#keys.size;
  }

  /** Everything found unreadable since the start, oldest first. */
  get damages(): readonly Damage[] {
    return this.#book.damages;
  }

  /** Whether records of unknown keys may be lost, and `settleDamage` has not ended that. */
  get suspicious(): boolean {
    return this.#book.suspicious;
  }

  /** 32 hexadecimal digits, made with the store. */
  get storeId(): string {
    return this.#catalog.identity.storeId.toString('hex');
  }

  /** Bytes of the segments. This and the next three are cheap, unlike `figures`. */
  get diskBytes(): number {
    this.#commit.applyLanded();
    return this.#catalog.figures().diskBytes;
  }

  /** Flushes since the start. */
  get flushCount(): number {
    return this.#commit.flushCount;
  }

  /** Merges since the start. */
  get mergeCount(): number {
    return this.#housekeeping.mergeCount;
  }

  /** Bytes of records that are their keys' newest. */
  get liveBytes(): number {
    this.#commit.applyLanded();
    return this.#catalog.figures().liveBytes;
  }

  /** All sizes at this moment. */
  get figures(): StoreFigures {
    this.#commit.applyLanded();
    return {
      ...this.#catalog.figures(),
      keyCount: this.#keys.size,
      directoryBytes: this.#keys.bytes,
      cacheBytes: this.#cache.bytes,
      pendingBytes: this.#commit.pendingBytes,
      flushCount: this.#commit.flushCount,
      mergeCount: this.#housekeeping.mergeCount,
    };
  }

  /** Calls `failed` when the store goes out of service for writes. */
  onFailed(failed: (error: LockstepError) => void): void {
    this.#onFailed.push(failed);
  }

  /** Calls `flushed` with the microseconds of every flush that has become durable (or, with `interval`, was written). */
  onFlushed(flushed: (tookUs: number) => void): void {
    this.#onFlushed = flushed;
  }

  /**
   * Calls `found` once a store that is out of service because of a full disk would find space if opened again; at once
   * if that is so already.
   */
  onSpaceAvailable(found: () => void): void {
    this.#probe.onFound(found);
  }

  /**
   * The durable value of a key, or undefined; at once if it is in memory. The bytes are a view that must not be
   * changed.
   *
   * Throws, or rejects with: `Corrupted` if the newest value is lost or may be. A new write heals the key, unless its
   * writer keeps the doubt (`keepDoubt`).
   * `StorageFailed` if the disk fails; `ShuttingDown` after `close`. A value longer than `bytesMax` is not fetched from
   * the disk: its length is returned instead.
   */
  get(key: PackedKey): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  get(key: PackedKey, bytesMax: number): Uint8Array | undefined | number | Promise<Uint8Array | undefined>;
  get(
    key: PackedKey,
    bytesMax = Infinity,
  ): Uint8Array | undefined | number | Promise<Uint8Array | undefined> {
    if (this.#state === 'closed') throw new LockstepError('ShuttingDown', 'the store is closed');
    this.#commit.applyLanded();
    if (this.#book.keepsDoubt(key)) throw lostKey();
    const id = this.#keys.find(key);
    if (id === 0) {
      if (this.#isDoubted(key, 0)) throw lostKey();
      return undefined;
    }
    const cached = this.#cache.get(id);
    if (cached !== undefined) return cached;
    if (this.#keys.stateOf(id) === 'damaged' || this.#isDoubted(key, this.#keys.seqOf(id))) throw lostKey();
    const valueBytes = this.#keys.valueBytesOf(id);
    return valueBytes > bytesMax ? valueBytes : this.#read(key, id);
  }

  /**
   * The newest readable value of a key for which `get` throws `Corrupted`: a newer one may be lost. Undefined if there
   * is none. For a caller that merges it with another replica's copy; it must never be served. Throws, or rejects with,
   * what `get` does, except `Corrupted`.
   */
  getDoubted(key: PackedKey): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#state === 'closed') throw new LockstepError('ShuttingDown', 'the store is closed');
    this.#commit.applyLanded();
    const id = this.#keys.find(key);
    if (id === 0) return undefined;
    const cached = this.#cache.get(id);
    if (cached !== undefined) return cached;
    if (this.#keys.stateOf(id) === 'damaged') return undefined;
    return this.#read(key, id).catch((error: unknown) => {
      if (error instanceof LockstepError && error.code === 'Corrupted') return undefined;
      throw error;
    });
  }

  /**
   * The next write of the key, whose newest value is lost, may lack what was lost. The key stays `Corrupted` until
   * `endDoubt` or `settleDamage`; `getDoubted` reads what is written meanwhile. Ends with the process.
   */
  keepDoubt(key: PackedKey): void {
    this.#book.keepDoubt(key);
  }

  /** Whether `keepDoubt` holds for the key. */
  keepsDoubt(key: PackedKey): boolean {
    return this.#book.keepsDoubt(key);
  }

  /** Whether `getDoubted` reads the newest record of the key, as far as is known. */
  hasNewest(key: PackedKey): boolean {
    this.#commit.applyLanded();
    const id = this.#keys.find(key);
    return id !== 0 && this.#keys.stateOf(id) !== 'damaged' && !this.#isDoubted(key, this.#keys.seqOf(id));
  }

  /** What was lost of the key has been fetched from other replicas. */
  endDoubt(key: PackedKey): void {
    this.#book.endDoubt(key);
  }

  /** Keys for which `keepDoubt` holds. */
  get doubtedKeys(): readonly PackedKey[] {
    return this.#book.doubtedKeys;
  }

  /** Whether a record of the key that is newer than `seq` may be lost. */
  #isDoubted(key: PackedKey, seq: number): boolean {
    return this.#book.suspicious && this.#book.doubts(this.#keys.hashOf(key), seq);
  }

  /** What `get` would return at once; `elsewhere` if it would read the disk or throw. */
  inMemory(key: PackedKey): Uint8Array | undefined | 'elsewhere' {
    if (this.#state === 'closed') return 'elsewhere';
    this.#commit.applyLanded();
    if (this.#book.keepsDoubt(key)) return 'elsewhere';
    const id = this.#keys.find(key);
    if (id !== 0) return this.#cache.get(id) ?? 'elsewhere';
    return this.#book.suspicious ? 'elsewhere' : undefined;
  }

  /**
   * Writes a batch, whole or not at all. `done` is called once, later. Without an error the batch is durable as the
   * sync mode says. After `TooLarge`, `BadRequest` or `ShuttingDown` nothing happened; after `StorageFailed` the write
   * may have happened.
   */
  write(batch: readonly StoreWrite[], done: WriteDone): void {
    const bytes = groupBytes(batch);
    const refusal = refusalOf(this.#state, batch, bytes, this.#options.batchBytesMax);
    if (refusal !== undefined) this.#io.spawn('store.refuse', () => answerLater(done, refusal));
    else this.#commit.write(batch, bytes, done);
  }

  /** Keys whose packed form begins with a whole bucket prefix (`bucketPrefix`), in no order. */
  keysOfBucket(prefix: string): Iterable<PackedKey> {
    this.#commit.applyLanded();
    return this.#keysOf(this.#keys.idsOfBucket(prefix));
  }

  /** The keys of a bucket are at most this many, by its prefix (`bucketPrefix`); often far fewer, found at once. */
  bucketKeysMax(prefix: string): number {
    this.#commit.applyLanded();
    return this.#keys.bucketKeysMax(prefix);
  }

  /**
   * Keys whose token lies after `from` up to and including `to`, across zero if need be (`from` = `to`: all), in no
   * order. As with `keysOfBucket`, keys written or removed during the iteration may be returned or not; all others are
   * returned once.
   */
  keysOfTokens(from: Token, to: Token): Iterable<PackedKey> {
    this.#commit.applyLanded();
    return this.#keysOf(this.#keys.idsOfTokens(from, to));
  }

  /** All keys, in no order. */
  keys(): Iterable<PackedKey> {
    this.#commit.applyLanded();
    return this.#keysOf(this.#keys.ids());
  }

  /** The key that was written last; undefined if there is none. Looks at all keys. */
  newestKey(): PackedKey | undefined {
    this.#commit.applyLanded();
    let newest = 0;
    for (const id of this.#keys.ids())
      if (newest === 0 || this.#keys.seqOf(id) > this.#keys.seqOf(newest)) newest = id;
    return newest === 0 ? undefined : this.#keys.keyOf(newest);
  }

  /** The token that a key was last written with; undefined for an absent key. */
  tokenOf(key: PackedKey): Token | undefined {
    this.#commit.applyLanded();
    const id = this.#keys.find(key);
    return id === 0 ? undefined : this.#keys.tokenOf(id);
  }

  /**
   * Records lost without a known key have been fetched from other replicas, or given up: no read is doubted any more.
   */
  settleDamage(): void {
    this.#book.settle();
  }

  /** Merges every sound sealed segment, without resting. Rejects with `StorageFailed`. */
  compact(): Promise<MergeReport> {
    return this.#housekeeping.mergeAll();
  }

  /**
   * Holds writes back until `resume`: they are accepted and wait. Resolves once everything that was on its way to the
   * disk is durable and visible. Merges go on: they change no value.
   */
  async hold(): Promise<void> {
    await this.#commit.hold();
    this.#commit.applyLanded();
  }

  /** Ends a `hold`. */
  resume(): void {
    this.#commit.resume();
  }

  /**
   * Pins the segments that hold everything durable. The caller must hold the writes, with `sync` mode `interval` too:
   * the bytes are then with the operating system, from where they are copied. The caller releases them before `close`.
   */
  pin(): PinnedSegments {
    this.#commit.applyLanded();
    return new PinnedSegments(this.#catalog.segments, this.#check);
  }

  /** Resolves when no write is under way and the background has nothing to do. */
  async settle(): Promise<void> {
    await this.#commit.settle();
    await this.#housekeeping.settle();
    await this.#catalog.settle();
  }

  /** Finishes the accepted writes, seals the log, and releases the directory. */
  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    const wasOpen = this.#state === 'open';
    this.#state = 'closed';
    this.#commit.resume();
    await this.#probe.stop();
    await this.#housekeeping.stop();
    await this.#commit.settle();
    try {
      if (wasOpen) await this.#seal();
    } finally {
      await this.#catalog.closeFiles();
      await this.#lock.release();
    }
    this.#io.log.event('info', 'store.closed', {});
  }

  /** Rejects only for a fault of the program. */
  async #seal(): Promise<void> {
    try {
      await this.#commit.close();
      await this.#housekeeping.writeLastHints();
    } catch (error) {
      const failed = asStoreError(error, 'sealing failed');
      if (!(failed instanceof LockstepError) || failed.code === 'Internal') throw failed;
      // The next start scans what was not sealed.
      this.#io.log.event('error', 'store.seal.failed', { detail: failed.message });
    }
  }

  #read(key: PackedKey, id: number): Promise<Uint8Array> {
    const segment = this.#catalog.mustFind(this.#keys.segmentOf(id));
    const expected = {
      key,
      offset: this.#keys.offsetOf(id),
      valueBytes: this.#keys.valueBytesOf(id),
      seq: this.#keys.seqOf(id),
      salt: segment.identity.salt,
    };
    segment.enter();
    return readRecord<Uint8Array>(
      segment.file,
      expected,
      (value) => {
        segment.leave();
        return this.#finishRead(expected, segment, id, value);
      },
      (error) => {
        segment.leave();
        throw asStoreError(error, 'the store cannot read');
      },
    );
  }

  #finishRead(
    expected: ExpectedRecord,
    segment: Segment,
    id: number,
    value: Buffer | undefined,
  ): Uint8Array | Promise<Uint8Array> {
    const unchanged = this.#keys.holds(id, expected.seq);
    if (value !== undefined) {
      // A doubted value stays out of the cache, whose values `get` serves.
      if (unchanged && !this.#isDoubted(expected.key, expected.seq))
        this.#cache.put(id, viewOf(value), 0, value.length);
      return value;
    }
    // A merge moved the record during the read: read its copy.
    if (unchanged && this.#keys.segmentOf(id) !== segment.number) {
      sometimes('store.value-moved-during-read');
      return this.#read(expected.key, id);
    }
    if (unchanged) this.#lost(id, segment, 'read');
    throw lostKey();
  }

  /** Marks the key as damaged: its newest record cannot be read. */
  #lost(id: number, segment: Segment, foundBy: DamageFinder): void {
    const keys = this.#keys;
    const offset = keys.offsetOf(id);
    const valueBytes = keys.valueBytesOf(id);
    const bytes = recordBytes(keys.keyBytesOf(id), valueBytes);
    if (keys.stateOf(id) === 'damaged') return;
    sometimes('store.value-lost');
    this.#cache.forget(id);
    keys.place(id, keys.segmentOf(id), offset, valueBytes, keys.seqOf(id), 'damaged');
    segment.damaged = true;
    segment.lostBytes += bytes;
    const tokens = [keys.tokenOf(id)];
    this.fingerprints.changed(keys.tokenOf(id));
    this.#book.add({
      kind: 'value',
      segment: segment.number,
      offset,
      bytes,
      keyCount: 1,
      tokens,
      foundBy,
    });
  }

  #fail(error: LockstepError): void {
    if (this.#state === 'open') this.#state = 'failed';
    const full = lacksSpace(error);
    this.#lacksRoom ||= full;
    this.#io.log.event('error', 'store.failed', { detail: error.message, full });
    for (const failed of this.#onFailed) failed(error);
    if (full) this.#probe.start();
  }

  *#keysOf(ids: Iterable<number>): Generator<PackedKey, void, undefined> {
    for (const id of ids) yield this.#keys.keyOf(id);
  }
}

/** `failed`: reads continue, writes need the store to be opened again. */
export type StoreState = 'open' | 'failed' | 'closed';

/** The error with which a batch of `bytes` encoded bytes is refused; undefined if it is accepted. */
function refusalOf(
  state: StoreState,
  batch: readonly StoreWrite[],
  bytes: number,
  bytesMax: number,
): LockstepError | undefined {
  if (state === 'closed') return new LockstepError('ShuttingDown', 'the store is closed');
  if (state === 'failed') return new LockstepError('StorageFailed', 'the store is out of service for writes');
  if (batch.length === 0) return new LockstepError('BadRequest', 'a batch holds at least one write');
  if (bytes > bytesMax) {
    return new LockstepError('TooLarge', `the batch has ${bytes} bytes; at most ${bytesMax} are allowed`);
  }
  const long = batch.find((write) => write.key.length > keyBytesMax);
  return long === undefined ? undefined : new LockstepError('TooLarge', 'a stored key exceeds 65,535 bytes');
}

/** Calls `done`, but not within the caller's call. */
async function answerLater(done: WriteDone, error: LockstepError): Promise<void> {
  await Promise.resolve();
  done(error);
}
