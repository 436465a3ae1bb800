/**
 * The write path. A batch is encoded when it is written, into the pending flush. One disk operation makes a flush
 * durable while the next one collects batches. An idle store flushes at once (after the present turn of the event loop,
 * so that the writers of one turn share a flush); under load, each sync serves all writers that came meanwhile.
 *
 * Two flushes may be in flight, so that the disk works while the other one is encoded, applied and answered. The second
 * one leaves once it has half as many writers as the first. When a flush lands alone, half of its writers are answered,
 * and may write again, before the other half. A third flush leaves only while all of them together have a handful of
 * writers: then waiting for more gains nothing, and a third writer would otherwise wait for two flushes.
 *
 * A landed flush is applied to the key directory and the caches after its writers are answered and their next writes
 * have left, so that the disk works meanwhile; or earlier, by the first read (`applyLanded`).
 *
 * Invariants:
 *
 * - Positions in the file follow the order of sequence numbers, and no two writes in flight overlap.
 * - Flushes are applied and answered in that order. Nothing is answered before its write, and every earlier one, has
 *   succeeded (and, with `always`, its sync; with `interval`, that of a flush which holds a record of the node itself).
 * - After the first failure nothing is written again, and every later writer is answered `StorageFailed`.
 *
 * A crash may leave a flush on the disk without an earlier one. Neither was answered, and neither calls the other
 * durable, so recovery cuts both.
 */
import { assert, failAssertion } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import { isSystemKey } from '../../base/object-key.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { Timer } from '../../io/clock.ts';
import type { StoreIo } from '../store-io.ts';
import { writeFully, writeFullyDurably } from '../../io/disk.ts';
import type { Catalog } from './segment-catalog.ts';
import type { Chunk } from './chunks.ts';
import { bytesOf, Chunks } from './chunks.ts';
import type { PendingFlush } from './pending-flush.ts';
import { gather, sealLastGroup } from './pending-flush.ts';
import type { SegmentIdentity, StoreWrite, WriteDone } from './record.ts';
import { segmentHeadBytes, segmentIdentity } from './record.ts';
import type { StoreOptions } from '../options.ts';
import type { Segment } from './segment.ts';
import { ZerosAhead } from './preallocation.ts';

/** A resolved promise: awaiting it lets everything that is due in this turn of the event loop run first. */
const thisTurn: Promise<void> = Promise.resolve();

/** The groups of a landed flush, and the segment in which they are durable. */
interface Landed {
  readonly segment: Segment;
  readonly chunks: readonly Chunk[];
}

/** Receives the outcome of flushes. */
export interface CommitSink {
  /** These groups are durable (or, with `interval`, written): they are visible to reads from now on. */
  committed(segment: Segment, chunks: readonly Chunk[]): void;
  /** A new segment takes the writes; `sealed` takes no more. */
  rotated(sealed: Segment): void;
  /** A flush has become durable (or, with `interval`, was written) `tookUs` microseconds after it left. */
  flushed(tookUs: number): void;
  /** Nothing can be written any more. Called once. */
  failed(error: LockstepError): void;
}

/** The write path of one store. */
export class GroupCommit {
  readonly #io: StoreIo;
  readonly #catalog: Catalog;
  readonly #options: StoreOptions;
  readonly #sink: CommitSink;
  #nextSeq: number;
  #segment: Segment | undefined;
  /** Every byte of the open segment below this offset is durable. */
  #durableBefore = segmentHeadBytes;
  readonly #zeros: ZerosAhead;
  #gathering: PendingFlush | undefined;
  /** Identity of the segment that the last pending flush goes to. */
  #identity: SegmentIdentity | undefined;
  /** Where the next pending flush begins: behind the last one, or (undefined) in a new segment. */
  #plannedNumber: number | undefined;
  #plannedAt = segmentHeadBytes;
  /** In flight, in the order of their positions. */
  readonly #flights: InFlightFlush[] = [];
  #running = false;
  #launching = false;
  /** Writers have just been answered: what they write in this turn leaves with the launch that follows. */
  #landing = false;
  /** Durable and answered (or being answered), and not applied yet. */
  #landed: Landed | undefined;
  #failure: LockstepError | undefined;
  /** A flush has failed: every flush behind it has failed, whatever its own write reports. */
  #broken = false;
  /** No flush leaves: a cut of the cluster is taken. */
  #held = false;
  /** Retains enough chunks for the flushes in flight, the pending one and the landed one. */
  readonly #chunks = new Chunks(flightsMax + 2);
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
    const { preallocateBytes, segmentBytes } = options;
    this.#zeros = new ZerosAhead(io, preallocateBytes, segmentBytes, (error) => this.#fail(error));
  }

  /** The highest sequence number given to a record. */
  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  /** Bytes encoded and not yet answered. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Flushes since the start; with `always`, each was a sync. */
  get flushCount(): number {
    return this.#flushCount;
  }

  /** The segment that takes writes now. */
  get openSegment(): Segment | undefined {
    return this.#segment;
  }

  /** Encodes the batch; `bytes` is its `groupBytes`. `done` is called once, later, never within this call. */
  write(batch: readonly StoreWrite[], bytes: number, done: WriteDone): void {
    assert(this.#failure === undefined && batch.length > 0, 'a failed store takes no writes');
    const gathering = (this.#gathering ??= this.#gather());
    const before = gathering.end;
    gather(gathering, batch, bytes, this.#nextSeq, this.#knownDurable(gathering), this.#chunks);
    gathering.dones.push(done);
    if (this.#options.sync.kind === 'interval' && batch.some(isOfSystem)) gathering.mustSync = true;
    this.#nextSeq += batch.length;
    this.#pendingBytes += gathering.end - before;
    if (gathering.end <= before) failAssertion('an encoded batch has bytes', before, gathering.end);
    if (this.#held) return;
    if (!this.#running) this.#start();
    else if (!this.#launching && !this.#landing && this.#flights.length > 0 && this.#mayLaunch(gathering))
      this.#launchSoon();
  }

  /**
   * Applies the landed flush. Every read calls it first; the write path calls it after the writers are answered and
   * their next writes have left.
   */
  applyLanded(): void {
    const landed = this.#landed;
    if (landed === undefined) return;
    this.#landed = undefined;
    this.#sink.committed(landed.segment, landed.chunks);
    for (const chunk of landed.chunks) this.#chunks.giveBack(chunk);
  }

  /**
   * Lets no further flush leave until `resume`. Resolves once none is in flight: from then on nothing becomes durable.
   * Writes are accepted, and wait.
   */
  async hold(): Promise<void> {
    this.#held = true;
    await this.settle();
  }

  /** Ends a `hold`: the waiting writes leave. */
  resume(): void {
    if (!this.#held) return;
    this.#held = false;
    if (this.#gathering !== undefined && !this.#running) this.#start();
  }

  /** Resolves when no write is under way. */
  async settle(): Promise<void> {
    while (this.#running) {
      this.#idle ??= new Deferred<void>();
      await this.#idle.promise;
    }
    await this.#zeros.settle();
  }

  /**
   * Resolves when everything that reads can see is durable (with `always` it is anyway). Rejects with the store's
   * failure.
   */
  async barrier(): Promise<void> {
    if (this.#options.sync.kind === 'always') return;
    await this.#syncing;
    this.#syncing = this.#syncNow();
    await this.#syncing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Takes the store out of service for writes, after a failure elsewhere on which writes depend. */
  fail(cause: unknown): void {
    this.#fail(cause);
  }

  /**
   * Writes and syncs everything, and seals the open segment. The caller writes nothing during the call or afterwards.
   */
  async close(): Promise<void> {
    await this.settle();
    this.#syncTimer?.cancel();
    await this.#syncing;
    const segment = this.#segment;
    if (this.#failure !== undefined || segment === undefined) return;
    await this.#seal(segment);
    await this.#catalog.publish([], []);
  }

  #start(): void {
    this.#running = true;
    this.#io.spawn('store.commit', () => this.#run());
  }

  /** Launches at the end of this turn of the event loop, so that its other writers join the flush. */
  #launchSoon(): void {
    this.#launching = true;
    this.#io.spawn('store.launch', () =>
      thisTurn.then(() => {
        this.#launching = false;
        this.#launch();
      }),
    );
  }

  async #run(): Promise<void> {
    await thisTurn;
    for (;;) {
      this.#launch();
      this.applyLanded();
      const [flight] = this.#flights;
      if (flight === undefined) break;
      const error = await flight.written;
      this.#flights.shift();
      if (error !== undefined) this.#break(error);
      if (this.#broken) {
        if (error === undefined) sometimes('store.flush-behind-failed');
        this.#answerBroken(flight.gathering);
        continue;
      }
      const { gathering } = flight;
      const { dones } = gathering;
      if (this.#landing) failAssertion('the writers of one flush are answered before the next one lands');
      const alone = this.#flights.length === 0 && dones.length >= splitWritersMin;
      const first = alone ? dones.length >>> 1 : dones.length;
      this.#land(gathering);
      this.#sink.flushed(this.#io.clock.nowUs() - flight.leftUs);
      // The writers just answered may write again before the next flush leaves.
      this.#landing = true;
      acknowledge(gathering, 0, first);
      await thisTurn;
      await thisTurn;
      if (first < dones.length) {
        this.#launch();
        acknowledge(gathering, first, dones.length);
        await thisTurn;
        await thisTurn;
      }
      this.#landing = false;
    }
    this.#running = false;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #launch(): void {
    for (let next = this.#gathering; next !== undefined && this.#mayLaunch(next); next = this.#gathering) {
      this.#gathering = undefined;
      sealLastGroup(next, this.#knownDurable(next));
      this.#checkPlace(next);
      this.#plannedNumber = next.end >= this.#options.segmentBytes ? undefined : next.identity.number;
      this.#plannedAt = next.end;
      const begins = this.#segment?.number !== next.identity.number;
      // The flush begins a segment, so the previous one is sealed, which needs everything written to it applied.
      if (begins) this.applyLanded();
      const alone = begins || this.#growsFile(next);
      const leftUs = this.#io.clock.nowUs();
      this.#flights.push({ gathering: next, alone, leftUs, written: this.#fly(next, alone) });
    }
  }

  #mayLaunch(next: PendingFlush): boolean {
    return !this.#held && this.#failure === undefined && mayLeave(this.#flights, next);
  }

  /** Resolves with the error, or undefined. */
  #fly(gathering: PendingFlush, alone: boolean): Promise<unknown> {
    const file = this.#segment?.file;
    if (alone || file === undefined || this.#options.sync.kind !== 'always')
      return this.#flush(gathering, [...this.#flights]).then(nothingWrong, wrong);
    const written = writeFullyDurably(file, gathering.chunks.map(bytesOf), gathering.at);
    this.#zeros.advance(file, gathering.end);
    return written.then((durableBefore) => void (gathering.safeBefore = durableBefore), wrong);
  }

  /** A flush begins where the last one in flight, or else what was landed, ends; or it begins a segment. */
  #checkPlace({ identity, at, end, dones }: PendingFlush): void {
    if (dones.length === 0 || end <= at)
      failAssertion('a flush has writers and bytes', dones.length, at, end);
    const last = this.#flights.at(-1)?.gathering;
    const open = last?.identity.number ?? this.#segment?.number ?? -1;
    const wanted = open === identity.number ? (last?.end ?? this.#segment?.length) : segmentHeadBytes;
    if (identity.number < open) failAssertion('segments of the log ascend', open, identity.number);
    if (at !== wanted) failAssertion('a flush begins where the one before it ends', wanted, at);
  }

  /** The flush and every earlier one are durable. */
  #land({ identity, at, end, chunks }: PendingFlush): void {
    const segment = this.#segment;
    assert(segment !== undefined, 'a flush has a segment');
    if (this.#broken) failAssertion('nothing lands behind a flush that failed', identity.number, at);
    if (segment.number !== identity.number)
      failAssertion('a flush lands in the open segment', segment.number, identity.number);
    if (segment.sealed) failAssertion('a sealed segment takes no flush', segment.number);
    if (segment.length !== at) failAssertion('flushes land in the order of their places', segment.length, at);
    segment.length = end;
    if (this.#options.sync.kind === 'always') this.#durableBefore = end;
    this.#flushCount += 1;
    this.applyLanded();
    if (this.#landed !== undefined) failAssertion('a flush is applied before the next one lands', at);
    this.#landed = { segment, chunks };
    this.#pendingBytes = Math.max(0, this.#pendingBytes - (end - at));
  }

  /** A flush that begins a segment, extends the file, or is not durable at once. */
  async #flush(gathering: PendingFlush, ahead: readonly InFlightFlush[]): Promise<void> {
    if (this.#segment?.number !== gathering.identity.number) await this.#rotate(gathering.identity.number);
    await this.#zeros.settle();
    if (this.#failure !== undefined) throw this.#failure;
    const file = this.#segment?.file;
    assert(file !== undefined, 'the open segment has a file');
    const views = gathering.chunks.map(bytesOf);
    if (this.#options.sync.kind === 'interval') {
      gathering.safeBefore = gathering.at + (await writeFully(file, views, gathering.at));
      if (gathering.mustSync) await this.#syncThrough(gathering, ahead);
      else this.#syncSoon(this.#options.sync.intervalUs);
      return;
    }
    if (this.#growsFile(gathering)) views.push(...this.#zeros.behind(gathering.end));
    gathering.safeBefore = await writeFullyDurably(file, views, gathering.at);
  }

  /** Syncs the flush and those `ahead` of it: a crash that took one of them would take what is behind it, too. */
  async #syncThrough({ identity, end }: PendingFlush, ahead: readonly InFlightFlush[]): Promise<void> {
    for (const { written } of ahead) await written;
    await this.#segment?.file?.sync();
    if (this.#segment?.number !== identity.number)
      failAssertion('a segment is open while a flush to it is in flight', identity.number);
    this.#durableBefore = Math.max(this.#durableBefore, end);
  }

  /** Whether the flush must extend the file, and then writes zeros ahead. */
  #growsFile({ end }: PendingFlush): boolean {
    return this.#options.sync.kind === 'always' && end > this.#zeros.end;
  }

  /** Seals the open segment and opens the next one: the old one's bytes are durable before the new one counts. */
  async #rotate(number: number): Promise<void> {
    const old = this.#segment;
    await this.#syncing;
    if (old !== undefined) await this.#seal(old);
    const segment = await this.#catalog.create(number, 'log');
    try {
      await this.#catalog.publish([segment], []);
    } catch (error) {
      sometimes('store.manifest-failed-at-rotation');
      await segment.file?.close();
      throw error;
    }
    this.#segment = segment;
    this.#durableBefore = segmentHeadBytes;
    this.#zeros.restart(segment.madeBytes);
    this.#io.log.event('info', 'store.segment.rotated', { segment: number });
    if (old !== undefined) this.#sink.rotated(old);
  }

  /** Truncates the zeros and makes the rest durable. The manifest records it next. */
  async #seal(segment: Segment): Promise<void> {
    const { file } = segment;
    await this.#zeros.settle();
    if (this.#zeros.end > segment.length) await file?.truncate(segment.length);
    await file?.sync();
    if (segment.sealed) failAssertion('a segment is sealed once', segment.number);
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
      sometimes('store.interval-sync-failed');
      this.#fail(error);
      return;
    }
    if (this.#segment === segment) this.#durableBefore = Math.max(this.#durableBefore, end);
  }

  #break(cause: unknown): void {
    sometimes('store.flush-failed');
    this.#broken = true;
    this.#fail(cause);
  }

  #answerBroken({ dones }: PendingFlush): void {
    for (const done of dones) done(this.#failure);
  }

  /**
   * Fails the store and answers the writers of the pending flush. Those in flight are answered when it is their turn.
   */
  #fail(cause: unknown): void {
    const first = this.#failure === undefined;
    const detail = cause instanceof Error ? cause.message : String(cause);
    const message = `the store takes no writes: ${detail}`;
    const error = (this.#failure ??= new LockstepError('StorageFailed', message, { cause }));
    if (first) this.#sink.failed(error);
    const waiting = this.#gathering;
    this.#gathering = undefined;
    this.#pendingBytes = 0;
    for (const done of waiting?.dones ?? []) done(error);
  }

  #gather(): PendingFlush {
    const number = this.#plannedNumber ?? this.#catalog.reserveForLog();
    const at = this.#plannedNumber === undefined ? segmentHeadBytes : this.#plannedAt;
    if (this.#identity?.number !== number)
      this.#identity = segmentIdentity(this.#catalog.identity.storeId, number, 'log');
    return {
      identity: this.#identity,
      at,
      end: at,
      safeBefore: 0,
      chunks: [],
      dones: [],
      mustSync: false,
      group: undefined,
    };
  }

  /** The offset below which the flush's segment is known to be durable. */
  #knownDurable(gathering: PendingFlush): number {
    return this.#segment?.number === gathering.identity.number ? this.#durableBefore : segmentHeadBytes;
  }
}

/** Answers the writers `from` to `to` of a landed flush. A write is acknowledged only after the sync of its bytes. */
function acknowledge({ dones, end, safeBefore }: PendingFlush, from: number, to: number): void {
  if (safeBefore < end) failAssertion('a write is acknowledged only after its sync', safeBefore, end);
  for (let index = from; index < to; index++) dones[index]?.(undefined);
}

function nothingWrong(): undefined {
  return undefined;
}

/** Never undefined, even if the disk rejected without a reason. */
function wrong(error: unknown): unknown {
  return error ?? new Error('a flush was rejected without a reason');
}

/** A record of the node itself, such as a vote or a decision of a transaction: protocols rely on it. */
function isOfSystem({ key }: StoreWrite): boolean {
  return isSystemKey(key);
}

/** A flush under way. */
export interface InFlightFlush {
  readonly gathering: PendingFlush;
  /** Must land before another flush leaves: it begins a segment, or writes zeros ahead. */
  readonly alone: boolean;
  /** When it left, in microseconds of the monotonic clock. */
  readonly leftUs: number;
  /** Resolves with the error, or undefined. Never rejects. */
  readonly written: Promise<unknown>;
}

/** Limit of flushes in flight, and of those of any size. */
export const flightsMax = 3;
const busyFlightsMax = 2;
/**
 * A flush with fewer writers is answered in one step. Beyond `busyFlightsMax`, all flushes in flight together have
 * fewer.
 */
export const splitWritersMin = 8;

/** Whether `next` may leave while `flights` are in flight, the oldest first. */
export function mayLeave(flights: readonly InFlightFlush[], { identity, dones }: PendingFlush): boolean {
  const [ahead] = flights;
  if (ahead === undefined) return true;
  if (flights.length >= flightsMax || flights.some(({ alone }) => alone)) return false;
  const { gathering } = ahead;
  if (gathering.identity.number !== identity.number) return false;
  if (flights.length < busyFlightsMax) return dones.length * 2 >= gathering.dones.length;
  const writers = flights.reduce((sum, flight) => sum + flight.gathering.dones.length, dones.length);
  return writers < splitWritersMin;
}
