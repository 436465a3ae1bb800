/**
 * The write path: batches are encoded where they are asked for, into the group that is gathering; one flush at a time
 * makes a gathered group durable (one operation of the disk), while the next one gathers. An idle store flushes at once (after the current
 * turn, so that writers of one turn share a flush); a busy one serves as many writers per sync as came during the last.
 *
 * Invariants: at most one flush is under way; bytes are written in the order of sequence numbers; nothing is applied
 * or answered before its write (and, with `always`, its sync) has succeeded; after the first failure nothing is ever
 * written again, and everyone who waits is told `StorageFailed`.
 */
import { assert } from '../base/assert.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { Timer } from '../io/clock.ts';
import type { StoreIo } from './store-io.ts';
import { writeFully, writeFullyDurably } from '../io/disk.ts';
import type { Catalog } from './catalog.ts';
import { encodeGroup, segmentHeadBytes, segmentIdentity } from './record.ts';
import type { SegmentIdentity, StoreWrite, WriteDone } from './record.ts';
import type { StoreOptions } from './options.ts';
import type { Segment } from './segment.ts';

const chunkBytesMin = 256 * 1024;

/** Whole groups back to back, and where they lie in the file. */
export interface Chunk {
  readonly buffer: Buffer;
  used: number;
  readonly fileAt: number;
  /** Of its records' keys, in order. */
  readonly hashes: number[];
}

/** What gathers for one flush. */
interface Gathering {
  readonly identity: SegmentIdentity;
  readonly at: number;
  end: number;
  readonly chunks: Chunk[];
  readonly dones: WriteDone[];
}

/** Told what became of the groups. */
export interface CommitSink {
  /** These groups are durable (or, with `interval`, written): they count from now on. */
  committed(segment: Segment, chunks: readonly Chunk[]): void;
  /** A new segment takes the writes; `sealed` takes no more. */
  rotated(sealed: Segment): void;
  /** Nothing can be written any more. Called once. */
  failed(error: LockstepError): void;
}

export class GroupCommit {
  readonly #io: StoreIo;
  readonly #catalog: Catalog;
  readonly #options: StoreOptions;
  readonly #sink: CommitSink;
  #nextSeq: number;
  #segment: Segment | undefined;
  /** Everything of the open segment under this offset is durable. */
  #durableBefore = segmentHeadBytes;
  /** The open segment's file has this many bytes: zeros behind the log. */
  #allocated = 0;
  #gathering: Gathering | undefined;
  /** Where the next gathering begins: behind the last one, or (undefined) in a new segment. */
  #plannedNumber: number | undefined;
  #plannedAt = segmentHeadBytes;
  #running = false;
  #failure: LockstepError | undefined;
  #spare: Buffer | undefined;
  #syncTimer: Timer | undefined;
  #syncing: Promise<void> = Promise.resolve();
  #idle: Deferred<void> | undefined;
  #pendingBytes = 0;
  #flushCount = 0;

  constructor(io: StoreIo, catalog: Catalog, options: StoreOptions, sink: CommitSink, nextSeq: number) {
    this.#io = io;
    this.#catalog = catalog;
    this.#options = options;
    this.#sink = sink;
    this.#nextSeq = nextSeq;
  }

  /** The highest sequence number given out. */
  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  /** Bytes encoded and not yet answered. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Flushes so far: with `always`, syncs that served writers. */
  get flushCount(): number {
    return this.#flushCount;
  }

  /** The segment that takes writes now. */
  get openSegment(): Segment | undefined {
    return this.#segment;
  }

  /** Encodes the batch, `bytes` long as `groupBytes` says; `done` is called later, never within this call. */
  write(batch: readonly StoreWrite[], bytes: number, done: WriteDone): void {
    assert(this.#failure === undefined && batch.length > 0, 'a failed store takes no writes');
    const gathering = (this.#gathering ??= this.#gather());
    const chunk = this.#chunkFor(gathering, bytes);
    const durableBefore = this.#options.sync.kind === 'always' ? gathering.at : this.#knownDurable(gathering);
    const { identity, end } = gathering;
    const { buffer, used, hashes } = chunk;
    chunk.used = encodeGroup(buffer, used, batch, identity, end, this.#nextSeq, durableBefore, hashes);
    gathering.end += bytes;
    gathering.dones.push(done);
    this.#nextSeq += batch.length;
    this.#pendingBytes += bytes;
    if (!this.#running) this.#start();
  }

  /** Resolves when nothing is under way any more. */
  async settle(): Promise<void> {
    while (this.#running) {
      this.#idle ??= new Deferred<void>();
      await this.#idle.promise;
    }
  }

  /** Everything that reads can see is durable when this resolves (with `always` it is anyway). */
  async barrier(): Promise<void> {
    if (this.#options.sync.kind === 'always') return;
    await this.#syncing;
    this.#syncing = this.#syncNow();
    await this.#syncing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Takes the store out of service for writes: something that writes rely on failed elsewhere. */
  fail(cause: unknown): void {
    this.#fail(cause, undefined);
  }

  /** Writes and syncs everything, and seals the open segment. The caller sends no writes meanwhile or afterwards. */
  async close(): Promise<Segment | undefined> {
    await this.settle();
    this.#syncTimer?.cancel();
    await this.#syncing;
    const segment = this.#segment;
    if (this.#failure !== undefined || segment === undefined) return undefined;
    await this.#seal(segment);
    await this.#catalog.publish([], []);
    return segment;
  }

  #start(): void {
    this.#running = true;
    this.#io.spawn('store.commit', () => this.#run());
  }

  async #run(): Promise<void> {
    // Writers of this turn of the event loop join the first flush.
    await Promise.resolve();
    while (this.#gathering !== undefined && this.#failure === undefined) {
      const gathering = this.#gathering;
      this.#gathering = undefined;
      this.#plannedNumber =
        gathering.end >= this.#options.segmentBytes ? undefined : gathering.identity.number;
      this.#plannedAt = gathering.end;
      await this.#commit(gathering);
      // Those just answered may have more to write: let them before the next flush leaves.
      await Promise.resolve();
      await Promise.resolve();
    }
    this.#running = false;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  async #commit(gathering: Gathering): Promise<void> {
    try {
      await this.#flush(gathering);
    } catch (error) {
      this.#fail(error, gathering);
      return;
    }
    const segment = this.#segment;
    assert(segment !== undefined, 'a flush has a segment');
    segment.length = gathering.end;
    this.#flushCount += 1;
    this.#sink.committed(segment, gathering.chunks);
    this.#recycle(gathering.chunks);
    this.#pendingBytes -= gathering.end - gathering.at;
    for (const done of gathering.dones) done(undefined);
  }

  async #flush(gathering: Gathering): Promise<void> {
    if (this.#segment?.number !== gathering.identity.number) await this.#rotate(gathering.identity.number);
    const file = this.#segment?.file;
    assert(file !== undefined, 'the open segment has a file');
    const views = gathering.chunks.map((chunk) => chunk.buffer.subarray(0, chunk.used));
    if (this.#options.sync.kind === 'interval') {
      await writeFully(file, views, gathering.at);
      this.#syncSoon(this.#options.sync.intervalUs);
      return;
    }
    if (gathering.end > this.#allocated) {
      const zeros = Buffer.alloc(Math.min(this.#options.preallocateBytes, gathering.end));
      views.push(zeros);
      this.#allocated = gathering.end + zeros.length;
    }
    await writeFullyDurably(file, views, gathering.at);
    this.#durableBefore = gathering.end;
  }

  /** Seals the open segment and opens the next: the old one's bytes are durable before the new one counts. */
  async #rotate(number: number): Promise<void> {
    const old = this.#segment;
    await this.#syncing;
    if (old !== undefined) await this.#seal(old);
    const segment = await this.#catalog.create(number, 'log');
    await this.#catalog.publish([segment], []);
    this.#segment = segment;
    this.#durableBefore = segmentHeadBytes;
    this.#allocated = 0;
    this.#io.log.event('info', 'store.segment.rotated', { segment: number });
    if (old !== undefined) this.#sink.rotated(old);
  }

  /** Takes the zeros off and makes what is left durable; the manifest says so next. */
  async #seal(segment: Segment): Promise<void> {
    const { file } = segment;
    if (this.#allocated > segment.length) await file?.truncate(segment.length);
    await file?.sync();
    segment.sealed = true;
  }

  #syncSoon(intervalUs: number): void {
    this.#syncTimer ??= this.#io.clock.after(intervalUs, () => {
      this.#syncTimer = undefined;
      this.#syncing = this.#syncNow();
      const syncing = this.#syncing;
      this.#io.spawn('store.sync', () => syncing);
    });
  }

  async #syncNow(): Promise<void> {
    const segment = this.#segment;
    if (segment === undefined || this.#failure !== undefined) return;
    const end = segment.length;
    try {
      await segment.file?.sync();
    } catch (error) {
      this.#fail(error, undefined);
      return;
    }
    if (this.#segment === segment) this.#durableBefore = Math.max(this.#durableBefore, end);
  }

  #fail(cause: unknown, gathering: Gathering | undefined): void {
    const first = this.#failure === undefined;
    const detail = cause instanceof Error ? cause.message : String(cause);
    const error = (this.#failure ??= new LockstepError(
      'StorageFailed',
      `the store takes no writes: ${detail}`,
      {
        cause,
      },
    ));
    if (first) this.#sink.failed(error);
    const waiting = this.#gathering;
    this.#gathering = undefined;
    this.#pendingBytes = 0;
    for (const done of gathering?.dones ?? []) done(error);
    for (const done of waiting?.dones ?? []) done(error);
  }

  #gather(): Gathering {
    const number = this.#plannedNumber ?? this.#catalog.reserve();
    const at = this.#plannedNumber === undefined ? segmentHeadBytes : this.#plannedAt;
    const identity = segmentIdentity(this.#catalog.identity.storeId, number, 'log');
    return { identity, at, end: at, chunks: [], dones: [] };
  }

  /** In `interval` mode, what is durable of the segment that the gathering goes to. */
  #knownDurable(gathering: Gathering): number {
    return this.#segment?.number === gathering.identity.number ? this.#durableBefore : segmentHeadBytes;
  }

  #chunkFor(gathering: Gathering, bytes: number): Chunk {
    const last = gathering.chunks.at(-1);
    if (last !== undefined && last.used + bytes <= last.buffer.length) return last;
    const spare = this.#spare;
    const fits = spare !== undefined && bytes <= spare.length;
    const buffer = fits ? spare : Buffer.allocUnsafeSlow(Math.max(chunkBytesMin, bytes));
    if (fits) this.#spare = undefined;
    const chunk = { buffer, used: 0, fileAt: gathering.end, hashes: [] };
    gathering.chunks.push(chunk);
    return chunk;
  }

  #recycle(chunks: readonly Chunk[]): void {
    for (const chunk of chunks) {
      if (chunk.buffer.length === chunkBytesMin) this.#spare = chunk.buffer;
    }
  }
}
