/**
 * Durable hinted handoff (source: DeCandia et al., "Dynamo", 2007, section 4.6). This node stores a write that a
 * replica missed until the replica takes it, or until the hint is too old. Anti-entropy repairs what hints do not
 * deliver. A hint counts for no consistency level.
 *
 * Hints are in a store of their own (the same storage engine in another directory), keyed by peer and object key. All
 * missed writes of a key share one hint, a restart finds all hints again, and recovery works as for objects.
 *
 * A new missed write is merged with the hint that the key already has, because it may be the older one: a write whose
 * replica was never asked becomes a hint at once, one whose replica never answered only at its deadline. A hint is
 * removed only if nothing was added for its key since the hint was read, so the replica has taken everything removed.
 *
 * Hints age by a clock that follows the monotonic clock, and goes on from the newest hint after a start: a jump of the
 * wall clock drops no hint, and the time for which the node was down does not count.
 *
 * Hints of a peer that is no longer a member go to all present owners of their keys. A leaving node delivers what it
 * can and hands the rest to other nodes (`handOn`).
 *
 * A hint is sent to a replica that has taken it no second time, also if the store cannot remove it (a failed store takes
 * no writes until the node starts again): this incarnation remembers, for `unremovedCountMax` hints, that they have
 * ended, and tries only the removal again. Beyond that number it delivers none until some are removed. A hint to which
 * a write is added is delivered again. After a start every hint in the store is delivered once more.
 *
 * Equation, per incarnation: delivered + handed on + expired + kept now <= stored + kept at the start. (A hint that
 * replaces another counts as stored, but not as kept beside it.) `dropped` counts those that were never stored.
 */
import { failAssertion } from '../../base/assert.ts';
import { tryDecode } from '../../base/decoding.ts';
import { Deferred } from '../../base/deferred.ts';
import { RetentionClock } from '../../base/retention-clock.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { TransientMap } from '../../base/transient-map.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { Timer } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import { decodeObject, encodeObject, mergeObjects } from '../../replica/object/object.ts';
import type { HandedHint, Hint } from './hint-codec.ts';
import { decodeHint, encodeHint, hintKeyOf, hintPrefix, peersOf } from './hint-codec.ts';
import type { HintPeers, HintWay } from './hint-targets.ts';
import { HintWays } from './hint-targets.ts';
import type { PeerLinks } from '../peer-links.ts';
import type { LocalStore, WriteDone } from '../../replica/key-slots.ts';
import { refusal } from '../../replica/key-slots.ts';

/** Limits of hinted handoff. */
export interface HintOptions {
  /** Limit of the stored hints in bytes, over all peers. */
  readonly bytesMax: number;
  /** Age in milliseconds after which a hint is no longer delivered; no jump of the wall clock ages it. */
  readonly ageMsMax: number;
  /** The interval at which hints of reachable peers are delivered. */
  readonly drainIntervalUs: number;
  /** Hints in flight to one peer at once. */
  readonly windowMax: number;
  readonly timeoutUs: number;
  /** Most hints that have ended and are not removed, of which the node remembers it. */
  readonly unremovedCountMax: number;
}

/** The store of hints, as this module needs it. */
export interface HintStore extends LocalStore {
  keysOfBucket(prefix: string): Iterable<PackedKey>;
  /** All keys. */
  keys(): Iterable<PackedKey>;
  has(key: PackedKey): boolean;
  /** The key that was written last; undefined if there is none. */
  newestKey(): PackedKey | undefined;
  /** Bytes of the stored hints. */
  liveBytes(): number;
  /** Number of stored hints. */
  keyCount(): number;
  /** False once a write or a sync has failed: it takes none until it is opened again. */
  takesWrites(): boolean;
  /** Stops accepting writes. */
  close(): void;
}

/** What became of a hint that need not be stored any more. */
type HintEnd = 'delivered' | 'handedOn' | 'expired';

/** Counts of this incarnation; see the equation in the header. A hint that has ended counts once it is removed. */
export interface HintCounts {
  stored: number;
  delivered: number;
  /** Another node has stored them. */
  handedOn: number;
  /** Too old, unreadable, or of a bucket that was flushed since. */
  expired: number;
  /** Not stored: the limit was reached, or the store refused or failed. */
  dropped: number;
}

/** The changes to one key's hint, from the first `keep` until the store has answered all of them. */
interface Change {
  /** Missed writes that wait until the stored hint has been read; undefined once it is known. */
  waiting: Missed[] | undefined;
  /** The newest object passed to the store, or found in it. */
  object: Uint8Array | undefined;
  /** When the newest write in `object` was made, by the retention clock. */
  writtenMs: number;
  /** Writes that the store has not answered. */
  writing: number;
}

/** A write that a replica missed. */
interface Missed {
  readonly token: Token;
  readonly object: Uint8Array;
  /** Its age in milliseconds when it arrived here. */
  readonly ageMs: number;
  /** Called once: the write is durable here, or will not be. */
  readonly done: WriteDone;
}

/** A hint on its way to another node. */
interface Delivery {
  /** A write was added to the key's hint since it was read: the hint stays, whatever the replica answers. */
  overtaken: boolean;
}

const ignored: WriteDone = () => undefined;

/** The hints that one node stores. Its counts, size and keys are read by metrics and by the simulator's monitors. */
export class Hints {
  readonly counts: HintCounts = { stored: 0, delivered: 0, handedOn: 0, expired: 0, dropped: 0 };
  readonly #io: Pick<Io, 'clock' | 'spawn'>;
  readonly #store: HintStore;
  readonly #ages: RetentionClock;
  readonly #ways: HintWays;
  readonly #options: HintOptions;
  readonly #peers: HintPeers;
  readonly #draining = new Set<NodeId>();
  /** Peers whose drain was requested while hints for them were being written. */
  readonly #wanted = new Set<NodeId>();
  readonly #changes = new TransientMap<PackedKey, Change>();
  readonly #deliveries = new TransientMap<PackedKey, Delivery>();
  /** Hints that have ended and could not be removed; no write was added to them since. */
  readonly #unremoved = new Map<PackedKey, HintEnd>();
  /** Peers for which hints may be stored; undefined until the store has been scanned. */
  #known: Set<NodeId> | undefined;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(
    io: Pick<Io, 'clock' | 'spawn'>,
    store: HintStore,
    links: PeerLinks,
    options: HintOptions,
    peers: HintPeers,
  ) {
    this.#io = io;
    this.#store = store;
    this.#ages = new RetentionClock(io.clock);
    this.#ways = new HintWays(this.#ages, links, peers, options.timeoutUs);
    this.#options = options;
    this.#peers = peers;
  }

  /** Number of stored hints. */
  get kept(): number {
    return this.#store.keyCount();
  }

  /** Bytes of the stored hints. */
  get keptBytes(): number {
    return this.#store.liveBytes();
  }

  /** Number of the stored hints that have ended and could not be removed. */
  get unremoved(): number {
    let count = 0;
    for (const hintKey of this.#unremoved.keys()) if (this.#store.has(hintKey)) count += 1;
    return count;
  }

  /** Goes on with the ages of the hints that are stored already. Call it before any hint is kept. */
  async recall(): Promise<void> {
    const newest = this.#store.newestKey();
    const bytes = newest === undefined ? undefined : await this.#read(newest);
    const hint = bytes === undefined || bytes === 'unreadable' ? undefined : decodeHint(bytes);
    if (hint !== undefined) this.#ages.continueFrom(hint.writtenMs);
  }

  /** Starts periodic delivery. */
  start(): void {
    this.#timer = this.#io.clock.after(this.#options.drainIntervalUs, () => this.#tick());
  }

  /** Stops delivery and closes the store. Deliveries under way may still end. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#store.close();
  }

  /** Stores a write that the peer missed, unless its bucket has been flushed since. Copies `object`. */
  keep(peer: NodeId, key: PackedKey, token: Token, object: Uint8Array): void {
    if (this.#peers.isFormer(key)) return;
    this.#keep(peer, hintKeyOf(peer, key), { token, object, ageMs: 0, done: ignored });
  }

  /**
   * Stores a hint that another node hands over. `done` is called once: without an error when it is durable here,
   * otherwise with the reason.
   */
  adopt({ peer, key, token, ageMs, object }: HandedHint, done: WriteDone): void {
    if (this.#peers.isFormer(key)) {
      // The node that hands it over need not keep it either.
      done(undefined);
      return;
    }
    sometimes('hint.adopted');
    this.#keep(peer, hintKeyOf(peer, key), { token, object, ageMs, done });
  }

  #keep(peer: NodeId, hintKey: PackedKey, missed: Missed): void {
    const { bytesMax } = this.#options;
    if (this.#store.liveBytes() + missed.object.length > bytesMax) {
      sometimes('hint.limit-reached');
      this.#drop(missed, new LockstepError('Overloaded', `${bytesMax} bytes of hints are kept already`));
      return;
    }
    this.#keptFor.add(peer);
    // A store that takes no writes adds none to the hint.
    if (this.#store.takesWrites()) this.#unremoved.delete(hintKey);
    const delivery = this.#deliveries.get(hintKey);
    if (delivery !== undefined) {
      sometimes('hint.overtaken');
      delivery.overtaken = true;
    }
    const change = this.#changes.get(hintKey);
    if (change === undefined) this.#begin(hintKey, missed);
    else if (change.waiting === undefined) this.#write(hintKey, change, missed);
    else change.waiting.push({ ...missed, object: Buffer.from(missed.object) });
  }

  /** Whether a hint for this key is stored, or about to be, for any peer. */
  keepsFor(key: PackedKey): boolean {
    return [...this.#keptFor].some((peer) => {
      const hintKey = hintKeyOf(peer, key);
      return this.#changes.has(hintKey) || this.#store.has(hintKey);
    });
  }

  /**
   * Delivers a peer's hints now, unless that is under way. Delivers again once hints that are being written now are
   * durable.
   */
  drain(peer: NodeId): void {
    if (this.#isWritingFor(peer)) this.#wanted.add(peer);
    this.#drain(peer, () => this.#peers.isRoutable(peer), this.#ways.toPeer);
  }

  /**
   * Delivers all hints, or hands them to other nodes to store; called when this node leaves. Resolves with the number
   * of hints that no node took, and of those that were added meanwhile.
   */
  async handOn(): Promise<number> {
    for (const peer of [...this.#keptFor]) await this.#deliverAll(peer, () => true, this.#ways.toAnybody);
    return this.kept - this.unremoved;
  }

  #drain(peer: NodeId, goOn: () => boolean, way: HintWay): void {
    if (this.#stopped || this.#draining.has(peer)) return;
    this.#draining.add(peer);
    this.#io.spawn('dispatch.hints', async () => {
      try {
        await this.#deliverAll(peer, goOn, way);
      } finally {
        this.#draining.delete(peer);
        this.#drainWritten(peer);
      }
    });
  }

  /** Delivers the hints whose writes were under way when the drain was requested. */
  #drainWritten(peer: NodeId): void {
    if (!this.#wanted.has(peer) || this.#draining.has(peer) || this.#isWritingFor(peer)) return;
    this.#wanted.delete(peer);
    this.drain(peer);
  }

  #tick(): void {
    if (this.#stopped) return;
    this.#timer = this.#io.clock.after(this.#options.drainIntervalUs, () => this.#tick());
    for (const peer of this.#peers.members()) if (this.#peers.isRoutable(peer)) this.drain(peer);
    this.#settleEstates();
  }

  /** Delivers hints of peers that are no longer members to the owners of their keys. */
  #settleEstates(): void {
    const view = this.#peers.settledView();
    if (view === undefined) return;
    const members = new Set(this.#peers.members());
    for (const peer of [...this.#keptFor]) {
      if (members.has(peer)) continue;
      if (!this.#isKeptFor(peer)) {
        this.#keptFor.delete(peer);
        continue;
      }
      sometimes('hint.of-former-member');
      this.#drain(peer, () => this.#peers.settledView() === view, this.#ways.toOwners);
    }
  }

  #isKeptFor(peer: NodeId): boolean {
    const prefix = hintPrefix(peer);
    for (const _ of this.#store.keysOfBucket(prefix)) return true;
    return this.#isWritingFor(peer);
  }

  #isWritingFor(peer: NodeId): boolean {
    if (this.#changes.size === 0) return false;
    const prefix = hintPrefix(peer);
    return this.#changes.keys().some((hintKey) => hintKey.startsWith(prefix));
  }

  get #keptFor(): Set<NodeId> {
    this.#known ??= peersOf(this.#store.keys());
    return this.#known;
  }

  async #deliverAll(peer: NodeId, goOn: () => boolean, way: HintWay): Promise<void> {
    const keys = [...this.#store.keysOfBucket(hintPrefix(peer))];
    for (let from = 0; from < keys.length; from += this.#options.windowMax) {
      if (this.#stopped || !goOn()) return;
      const window = keys.slice(from, from + this.#options.windowMax);
      const delivered = await Promise.all(window.map((key) => this.#deliver(peer, key, way)));
      if (delivered.includes(false)) return;
    }
  }

  /** Starts the changes of a key's hint: reads the stored hint before it is overwritten. */
  #begin(hintKey: PackedKey, missed: Missed): void {
    const change: Change = { waiting: undefined, object: undefined, writtenMs: 0, writing: 0 };
    this.#changes.set(hintKey, change);
    if (!this.#store.has(hintKey)) {
      this.#write(hintKey, change, missed);
      return;
    }
    sometimes('hint.merged-with-stored');
    change.waiting = [{ ...missed, object: Buffer.from(missed.object) }];
    const outcome = this.#store.tryRead(hintKey, (error, bytes) => {
      // A hint that cannot be read is lost anyway.
      this.#loaded(hintKey, change, error === undefined || error.code === 'Corrupted', bytes);
    });
    if (outcome !== 'ok') this.#loaded(hintKey, change, false, undefined);
  }

  #loaded(hintKey: PackedKey, change: Change, known: boolean, bytes: Uint8Array | undefined): void {
    const { waiting } = change;
    if (waiting === undefined || this.#changes.get(hintKey) !== change)
      return failAssertion('a hint is loaded once, for the one change of its key');
    change.waiting = undefined;
    if (!known) {
      this.#changes.delete(hintKey);
      for (const missed of waiting) this.#drop(missed, unreadable());
      return;
    }
    const hint = bytes === undefined ? undefined : decodeHint(bytes);
    if (hint !== undefined && !this.#isTooOld(hint)) {
      change.object = hint.object;
      change.writtenMs = hint.writtenMs;
    }
    change.writing += 1;
    for (const missed of waiting) this.#write(hintKey, change, missed);
    change.writing -= 1;
    this.#retire(hintKey, change);
  }

  #write(hintKey: PackedKey, change: Change, missed: Missed): void {
    const { token, ageMs } = missed;
    const object = change.object === undefined ? missed.object : merged(change.object, missed.object);
    // An older write that another node hands over makes the newer one no older.
    const writtenMs = Math.max(change.writtenMs, this.#ages.nowMs - ageMs);
    const value = encodeHint({ token, writtenMs, object });
    const outcome = this.#store.tryWrite([{ key: hintKey, token, value }], (error) => {
      if (error !== undefined) this.#drop(missed, error);
      else {
        this.counts.stored += 1;
        missed.done(undefined);
      }
      change.writing -= 1;
      if (change.writing < 0) failAssertion('the store answers each write of a hint once', change.writing);
      this.#retire(hintKey, change);
    });
    if (outcome === 'ok') {
      change.writing += 1;
      change.object = value.subarray(value.length - object.length);
      change.writtenMs = writtenMs;
    } else {
      this.#drop(missed, refusal(outcome));
      this.#retire(hintKey, change);
    }
  }

  #drop(missed: Missed, error: LockstepError): void {
    this.counts.dropped += 1;
    missed.done(error);
  }

  #retire(hintKey: PackedKey, change: Change): void {
    if (change.writing > 0 || this.#changes.get(hintKey) !== change) return;
    this.#changes.delete(hintKey);
    for (const peer of this.#wanted) this.#drainWritten(peer);
  }

  /** False if no node took the hint; the rest of the peer's hints then wait for the next drain. */
  async #deliver(peer: NodeId, hintKey: PackedKey, way: HintWay): Promise<boolean> {
    // A hint that is being written or delivered is skipped; the next drain delivers it.
    if (this.#changes.has(hintKey) || this.#deliveries.has(hintKey)) return true;
    const end = this.#unremoved.get(hintKey);
    if (end !== undefined && !this.#store.takesWrites()) return true;
    if (end === undefined && this.#unremoved.size >= this.#options.unremovedCountMax) {
      sometimes('hint.unremoved-limit-reached');
      return false;
    }
    this.#deliveries.set(hintKey, { overtaken: false });
    try {
      if (end === undefined) return await this.#handOver(peer, hintKey, way);
      sometimes('hint.removal-repeated');
      await this.#end(hintKey, end);
      return true;
    } finally {
      if (this.#deliveries.delete(hintKey) === undefined) failAssertion('a hint has one delivery at a time');
    }
  }

  async #handOver(peer: NodeId, hintKey: PackedKey, way: HintWay): Promise<boolean> {
    const bytes = await this.#read(hintKey);
    if (bytes === undefined) return true;
    const hint = bytes === 'unreadable' ? undefined : decodeHint(bytes);
    const key = hintKey.slice(hintPrefix(peer).length) as PackedKey;
    const isFlushed = this.#peers.isFormer(key);
    // No replica can ever take an unreadable hint. Anti-entropy brings what it held.
    if (hint === undefined || isFlushed || this.#isTooOld(hint)) {
      if (isFlushed) sometimes('hint.flushed');
      else if (hint === undefined) sometimes('hint.unreadable');
      else sometimes('hint.expired');
      await this.#end(hintKey, 'expired');
      return true;
    }
    const outcome = await way(peer, key, hint);
    if (outcome === 'here') return false;
    // The hints behind it may be taken all the same. This one stays until it is taken or too old.
    if (outcome === 'refused') return true;
    await this.#end(hintKey, outcome);
    return true;
  }

  /** Removes a hint that has ended, or remembers that it has. */
  async #end(hintKey: PackedKey, end: HintEnd): Promise<void> {
    const delivery = this.#deliveries.get(hintKey);
    if (delivery === undefined) return failAssertion('a hint is ended only by its delivery');
    // A later write for the key is queued behind the removal.
    const isRemoved = !delivery.overtaken && (await this.#remove(hintKey));
    // Only the delivery notes that a write has overtaken the removal.
    if (this.#deliveries.get(hintKey) !== delivery)
      failAssertion('a delivery lasts until its hint is removed');
    if (isRemoved) {
      this.counts[end] += 1;
      this.#unremoved.delete(hintKey);
    } else if (!delivery.overtaken) this.#unremoved.set(hintKey, end);
  }

  #isTooOld(hint: Hint): boolean {
    return this.#ages.nowMs - hint.writtenMs > this.#options.ageMsMax;
  }

  /** Undefined if there is none, or if the store cannot say now. */
  #read(key: PackedKey): Promise<Uint8Array | 'unreadable' | undefined> {
    const answer = new Deferred<Uint8Array | 'unreadable' | undefined>();
    const outcome = this.#store.tryRead(key, (error, bytes) => {
      if (error?.code === 'Corrupted') answer.resolve('unreadable');
      else answer.resolve(error === undefined ? bytes : undefined);
    });
    if (outcome !== 'ok') answer.resolve(undefined);
    return answer.promise;
  }

  /** Removes a hint from the store. Resolves with whether it did. */
  #remove(key: PackedKey): Promise<boolean> {
    const done = new Deferred<boolean>();
    const onDone: WriteDone = (error) => done.resolve(error === undefined);
    const outcome = this.#store.tryWrite([{ key, token: 0 as Token, value: undefined }], onDone);
    if (outcome !== 'ok') done.resolve(false);
    return done.promise;
  }
}

function unreadable(): LockstepError {
  return new LockstepError('Corrupted', 'what is kept for the key already cannot be read');
}

/** Merges the two objects; the second one if either cannot be decoded. */
function merged(kept: Uint8Array, missed: Uint8Array): Uint8Array {
  return tryDecode(() => encodeObject(mergeObjects(decodeObject(kept), decodeObject(missed)))) ?? missed;
}
