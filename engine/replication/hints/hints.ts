/**
 * Durable hinted handoff (source: DeCandia et al., "Dynamo", 2007, section 4.6): a write that a replica missed is kept
 * here until that replica takes it, or until the hint is too old. Anti-entropy is the safety net behind it.
 *
 * Hints lie in a store of their own (the engine's storage engine, another directory), keyed by peer and object key, so
 * there is one hint for all missed writes of a key, a restart finds all of them again, and the same recovery holds. A
 * hint counts for no consistency level.
 *
 * What is kept for a key is merged with what is kept for it already, for it may be the older of the two: a write whose
 * replica was never asked is kept at once, one whose replica never answered only at its deadline. And a hint goes only
 * when nothing has been kept for its key since it was read, so what goes is what the replica has taken.
 *
 * A peer that is no member any more takes nothing: what was kept for it goes to all owners that its keys have now. A
 * node that leaves delivers what it can and hands the rest to others to be kept there (`handOn`).
 *
 * Equation, over one life: delivered + handed on + expired + kept now <= stored + kept at the start (a hint that takes
 * another's place is stored, but not kept beside it); `dropped` are those that were never stored.
 */
import { BytesError } from '../../base/bytes.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { TransientMap } from '../../base/transient-map.ts';
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

export interface HintOptions {
  /** Bytes of hints kept at most, over all peers. */
  readonly bytesMax: number;
  /** A hint older than this is not delivered any more, milliseconds of the wall clock. */
  readonly ageMsMax: number;
  /** How often hints of reachable peers are looked for. */
  readonly drainIntervalUs: number;
  /** Hints under way to one peer at once. */
  readonly windowMax: number;
  readonly timeoutUs: number;
}

/** The store of hints, as it is needed here. */
export interface HintStore extends LocalStore {
  keysOfBucket(prefix: string): Iterable<PackedKey>;
  /** All keys. */
  keys(): Iterable<PackedKey>;
  has(key: PackedKey): boolean;
  /** Bytes of hints kept now. */
  liveBytes(): number;
  /** Hints kept now. */
  keyCount(): number;
  /** Takes no more. */
  close(): void;
}

export interface HintCounts {
  stored: number;
  delivered: number;
  /** Given to another node to be kept there. */
  handedOn: number;
  expired: number;
  /** Not kept: the limit was reached, or the store took no more. */
  dropped: number;
}

/** A key's hint while it changes: from the first `keep` on until the store has answered all that came of it. */
interface Change {
  /** What was kept and is not handed to the store, since what is there is not known yet; undefined once it is. */
  waiting: Missed[] | undefined;
  /** The newest object handed to the store, or found there. */
  object: Uint8Array | undefined;
  /** Writes that the store has not answered. */
  writing: number;
}

/** A write that a replica missed. */
interface Missed {
  readonly token: Token;
  readonly object: Uint8Array;
  /** How old it was when it came here. */
  readonly ageMs: number;
  /** Hears when it is durable here, or will not be. */
  readonly done: WriteDone;
}

/** A hint on its way to its replica. */
interface Delivery {
  /** More was kept for the key since: the hint stays, whatever the replica says to this one. */
  overtaken: boolean;
}

const ignored: WriteDone = () => undefined;

export class Hints {
  readonly counts: HintCounts = { stored: 0, delivered: 0, handedOn: 0, expired: 0, dropped: 0 };
  readonly #io: Pick<Io, 'clock' | 'spawn'>;
  readonly #store: HintStore;
  readonly #ways: HintWays;
  readonly #options: HintOptions;
  readonly #peers: HintPeers;
  readonly #draining = new Set<NodeId>();
  /** Those that came while hints for them were being written. */
  readonly #wanted = new Set<NodeId>();
  readonly #changes = new TransientMap<PackedKey, Change>();
  readonly #deliveries = new TransientMap<PackedKey, Delivery>();
  /** For whom anything may be kept; undefined until the store was looked through. */
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
    this.#ways = new HintWays(io.clock, links, peers, options.timeoutUs);
    this.#options = options;
    this.#peers = peers;
  }

  /** Hints kept now. */
  get kept(): number {
    return this.#store.keyCount();
  }

  get keptBytes(): number {
    return this.#store.liveBytes();
  }

  start(): void {
    this.#timer = this.#io.clock.after(this.#options.drainIntervalUs, () => this.#tick());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#store.close();
  }

  /** Keeps a write for a peer that missed it. What it holds is copied. */
  keep(peer: NodeId, key: PackedKey, token: Token, object: Uint8Array): void {
    this.#keep(peer, hintKeyOf(peer, key), { token, object, ageMs: 0, done: ignored });
  }

  /** Keeps what another node has kept until now. `done` hears when it is durable here, or why it will not be. */
  adopt({ peer, key, token, ageMs, object }: HandedHint, done: WriteDone): void {
    this.#keep(peer, hintKeyOf(peer, key), { token, object, ageMs, done });
  }

  #keep(peer: NodeId, hintKey: PackedKey, missed: Missed): void {
    const { bytesMax } = this.#options;
    if (this.#store.liveBytes() + missed.object.length > bytesMax) {
      this.#drop(missed, new LockstepError('Overloaded', `${bytesMax} bytes of hints are kept already`));
      return;
    }
    this.#keptFor.add(peer);
    const delivery = this.#deliveries.get(hintKey);
    if (delivery !== undefined) delivery.overtaken = true;
    const change = this.#changes.get(hintKey);
    if (change === undefined) this.#begin(hintKey, missed);
    else if (change.waiting === undefined) this.#write(hintKey, change, missed);
    else change.waiting.push({ ...missed, object: Buffer.from(missed.object) });
  }

  /** A write of this key that some peer missed is kept here. */
  keepsFor(key: PackedKey): boolean {
    return [...this.#keptFor].some((peer) => {
      const hintKey = hintKeyOf(peer, key);
      return this.#changes.has(hintKey) || this.#store.has(hintKey);
    });
  }

  /** Delivers a peer's hints now, unless that is under way; once more when those are kept that are being written now. */
  drain(peer: NodeId): void {
    if (this.#isWritingFor(peer)) this.#wanted.add(peer);
    this.#drain(peer, () => this.#peers.isRoutable(peer), this.#ways.toPeer);
  }

  /**
   * Delivers everything that is kept, or gives it to others to be kept there: this node leaves. Resolves with what is
   * still here, since nobody took it, or because it came meanwhile.
   */
  async handOn(): Promise<number> {
    for (const peer of [...this.#keptFor]) await this.#deliverAll(peer, () => true, this.#ways.toAnybody);
    return this.kept;
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

  /** What was on its way to the disk when the peer came is there now. */
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

  /** What was kept for those who are no members any more goes to the owners of its keys. */
  #settleEstates(): void {
    const view = this.#peers.settledView();
    if (view === undefined) return;
    const members = new Set(this.#peers.members());
    for (const peer of [...this.#keptFor]) {
      if (members.has(peer)) continue;
      if (this.#isKeptFor(peer))
        this.#drain(peer, () => this.#peers.settledView() === view, this.#ways.toOwners);
      else this.#keptFor.delete(peer);
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

  /** The first change to a key's hint: what is there already is read before it is written over. */
  #begin(hintKey: PackedKey, missed: Missed): void {
    const change: Change = { waiting: undefined, object: undefined, writing: 0 };
    this.#changes.set(hintKey, change);
    if (!this.#store.has(hintKey)) {
      this.#write(hintKey, change, missed);
      return;
    }
    change.waiting = [{ ...missed, object: Buffer.from(missed.object) }];
    const outcome = this.#store.tryRead(hintKey, (error, bytes) => {
      // A hint that cannot be read is lost anyway.
      this.#loaded(hintKey, change, error === undefined || error.code === 'Corrupted', bytes);
    });
    if (outcome !== 'ok') this.#loaded(hintKey, change, false, undefined);
  }

  #loaded(hintKey: PackedKey, change: Change, known: boolean, bytes: Uint8Array | undefined): void {
    const waiting = change.waiting ?? [];
    change.waiting = undefined;
    if (!known) {
      this.#changes.delete(hintKey);
      for (const missed of waiting) this.#drop(missed, unreadable());
      return;
    }
    const hint = bytes === undefined ? undefined : decodeHint(bytes);
    if (hint !== undefined && !this.#isTooOld(hint)) change.object = hint.object;
    change.writing += 1;
    for (const missed of waiting) this.#write(hintKey, change, missed);
    change.writing -= 1;
    this.#retire(hintKey, change);
  }

  #write(hintKey: PackedKey, change: Change, missed: Missed): void {
    const { token, ageMs } = missed;
    const object = change.object === undefined ? missed.object : merged(change.object, missed.object);
    const writtenMs = Math.max(0, this.#io.clock.wallMs() - ageMs);
    const value = encodeHint({ token, writtenMs, object });
    const outcome = this.#store.tryWrite([{ key: hintKey, token, value }], (error) => {
      // It may still reach the disk, and must not be removed there unseen: another one behind it tells.
      if (error?.code === 'Timeout') this.#write(hintKey, change, missed);
      else if (error !== undefined) this.#drop(missed, error);
      else {
        this.counts.stored += 1;
        missed.done(undefined);
      }
      change.writing -= 1;
      this.#retire(hintKey, change);
    });
    if (outcome === 'ok') {
      change.writing += 1;
      change.object = value.subarray(value.length - object.length);
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

  /** False: nobody took it; the rest waits for the next time. */
  async #deliver(peer: NodeId, hintKey: PackedKey, way: HintWay): Promise<boolean> {
    // What is being written is not read yet; it comes the next time. So does what is under way.
    if (this.#changes.has(hintKey) || this.#deliveries.has(hintKey)) return true;
    this.#deliveries.set(hintKey, { overtaken: false });
    try {
      return await this.#handOver(peer, hintKey, way);
    } finally {
      this.#deliveries.delete(hintKey);
    }
  }

  async #handOver(peer: NodeId, hintKey: PackedKey, way: HintWay): Promise<boolean> {
    const bytes = await this.#read(hintKey);
    if (bytes === undefined) return true;
    const hint = decodeHint(bytes);
    if (hint === undefined || this.#isTooOld(hint)) {
      if (await this.#remove(hintKey)) this.counts.expired += 1;
      return true;
    }
    const key = hintKey.slice(hintPrefix(peer).length) as PackedKey;
    const outcome = await way(peer, key, hint);
    if (outcome === 'here') return false;
    if (await this.#remove(hintKey)) this.counts[outcome] += 1;
    return true;
  }

  #isTooOld(hint: Hint): boolean {
    return this.#io.clock.wallMs() - hint.writtenMs > this.#options.ageMsMax;
  }

  #read(key: PackedKey): Promise<Uint8Array | undefined> {
    const answer = new Deferred<Uint8Array | undefined>();
    const outcome = this.#store.tryRead(key, (error, bytes) => {
      answer.resolve(error === undefined ? bytes : undefined);
    });
    if (outcome !== 'ok') answer.resolve(undefined);
    return answer.promise;
  }

  /**
   * Removes a hint on its way unless more was kept for its key since; whether it did. What is kept from now on is
   * written behind the removal.
   */
  async #remove(key: PackedKey): Promise<boolean> {
    if (this.#deliveries.get(key)?.overtaken === true) return false;
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

/** What the two tell together; the second where the first cannot be read. */
function merged(kept: Uint8Array, missed: Uint8Array): Uint8Array {
  try {
    return encodeObject(mergeObjects(decodeObject(kept), decodeObject(missed)));
  } catch (error) {
    if (error instanceof BytesError) return missed;
    throw error;
  }
}
