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
 * Equation, over one life: delivered + expired + kept now <= stored + kept at the start (a hint that takes another's
 * place is stored, but not kept beside it); `dropped` are those that were never stored.
 */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import { Deferred } from '../base/deferred.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { bucketPrefix } from '../base/object-key.ts';
import type { Timer } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import { decodeObject, encodeObject, mergeObjects } from '../object/object.ts';
import type { PeerReply } from '../wire/messages.ts';
import type { PeerLinks } from './peer-links.ts';
import type { LocalStore, WriteDone } from './slots.ts';

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
  expired: number;
  /** Not kept: the limit was reached, or the store took no more. */
  dropped: number;
}

interface Hint {
  readonly token: Token;
  readonly writtenMs: number;
  readonly object: Uint8Array;
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
}

/** A hint on its way to its replica. */
interface Delivery {
  /** More was kept for the key since: the hint stays, whatever the replica says to this one. */
  overtaken: boolean;
}

const hintType = byteStringOf('hint');

export class Hints {
  readonly counts: HintCounts = { stored: 0, delivered: 0, expired: 0, dropped: 0 };
  readonly #io: Pick<Io, 'clock' | 'spawn'>;
  readonly #store: HintStore;
  readonly #links: PeerLinks;
  readonly #options: HintOptions;
  readonly #isRoutable: (node: NodeId) => boolean;
  readonly #peers: () => readonly NodeId[];
  readonly #draining = new Set<NodeId>();
  readonly #changes = new Map<PackedKey, Change>();
  readonly #deliveries = new Map<PackedKey, Delivery>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(
    io: Pick<Io, 'clock' | 'spawn'>,
    store: HintStore,
    links: PeerLinks,
    options: HintOptions,
    peers: () => readonly NodeId[],
    isRoutable: (node: NodeId) => boolean,
  ) {
    this.#io = io;
    this.#store = store;
    this.#links = links;
    this.#options = options;
    this.#peers = peers;
    this.#isRoutable = isRoutable;
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
    if (this.#store.liveBytes() + object.length > this.#options.bytesMax) {
      this.counts.dropped += 1;
      return;
    }
    const hintKey = keyOf(peer, key);
    const delivery = this.#deliveries.get(hintKey);
    if (delivery !== undefined) delivery.overtaken = true;
    const change = this.#changes.get(hintKey);
    if (change === undefined) this.#begin(hintKey, { token, object });
    else if (change.waiting === undefined) this.#write(hintKey, change, { token, object });
    else change.waiting.push({ token, object: Buffer.from(object) });
  }

  /** A write of this key that some peer missed is kept here. */
  keepsFor(key: PackedKey): boolean {
    return this.#peers().some((peer) => {
      const hintKey = keyOf(peer, key);
      return this.#changes.has(hintKey) || this.#store.has(hintKey);
    });
  }

  /** Delivers a peer's hints now, unless that is under way. */
  drain(peer: NodeId): void {
    if (this.#stopped || this.#draining.has(peer)) return;
    this.#draining.add(peer);
    this.#io.spawn('dispatch.hints', async () => {
      try {
        await this.#deliverAll(peer);
      } finally {
        this.#draining.delete(peer);
      }
    });
  }

  #tick(): void {
    if (this.#stopped) return;
    this.#timer = this.#io.clock.after(this.#options.drainIntervalUs, () => this.#tick());
    for (const peer of this.#peers()) if (this.#isRoutable(peer)) this.drain(peer);
  }

  async #deliverAll(peer: NodeId): Promise<void> {
    const keys = [...this.#store.keysOfBucket(prefixOf(peer))];
    for (let from = 0; from < keys.length; from += this.#options.windowMax) {
      if (this.#stopped || !this.#isRoutable(peer)) return;
      const window = keys.slice(from, from + this.#options.windowMax);
      const delivered = await Promise.all(window.map((key) => this.#deliver(peer, key)));
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
    change.waiting = [{ token: missed.token, object: Buffer.from(missed.object) }];
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
      this.counts.dropped += waiting.length;
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
    const { token } = missed;
    const object = change.object === undefined ? missed.object : merged(change.object, missed.object);
    const value = encodeHint({ token, writtenMs: this.#io.clock.wallMs(), object });
    const outcome = this.#store.tryWrite([{ key: hintKey, token, value }], (error) => {
      // It may still reach the disk, and must not be removed there unseen: another one behind it tells.
      if (error?.code === 'Timeout') this.#write(hintKey, change, missed);
      else if (error === undefined) this.counts.stored += 1;
      else this.counts.dropped += 1;
      change.writing -= 1;
      this.#retire(hintKey, change);
    });
    if (outcome === 'ok') {
      change.writing += 1;
      change.object = value.subarray(value.length - object.length);
    } else {
      this.counts.dropped += 1;
      this.#retire(hintKey, change);
    }
  }

  #retire(hintKey: PackedKey, change: Change): void {
    if (change.writing === 0 && this.#changes.get(hintKey) === change) this.#changes.delete(hintKey);
  }

  /** False: the peer did not take it; the rest waits for the next time. */
  async #deliver(peer: NodeId, hintKey: PackedKey): Promise<boolean> {
    // What is being written is not read yet; it comes the next time.
    if (this.#changes.has(hintKey)) return true;
    this.#deliveries.set(hintKey, { overtaken: false });
    try {
      return await this.#handOver(peer, hintKey);
    } finally {
      this.#deliveries.delete(hintKey);
    }
  }

  async #handOver(peer: NodeId, hintKey: PackedKey): Promise<boolean> {
    const bytes = await this.#read(hintKey);
    if (bytes === undefined) return true;
    const hint = decodeHint(bytes);
    if (hint === undefined || this.#isTooOld(hint)) {
      if (await this.#remove(hintKey)) this.counts.expired += 1;
      return true;
    }
    const key = hintKey.slice(prefixOf(peer).length) as PackedKey;
    const reply = await this.#ask(peer, key, hint);
    if (reply.kind !== 'written') return false;
    if (await this.#remove(hintKey)) this.counts.delivered += 1;
    return true;
  }

  #isTooOld(hint: Hint): boolean {
    return this.#io.clock.wallMs() - hint.writtenMs > this.#options.ageMsMax;
  }

  #ask(peer: NodeId, key: PackedKey, hint: Hint): Promise<PeerReply> {
    const answer = new Deferred<PeerReply>();
    const request = { kind: 'mergeObject', key, token: hint.token, object: hint.object } as const;
    const outcome = this.#links.request(peer, request, this.#options.timeoutUs, (reply) =>
      answer.resolve(reply),
    );
    if (outcome !== 'ok') answer.resolve({ kind: 'failed', code: 'PeerGone', detail: outcome });
    return answer.promise;
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

function prefixOf(peer: NodeId): string {
  return bucketPrefix(hintType, byteStringOf(peer));
}

function keyOf(peer: NodeId, key: PackedKey): PackedKey {
  return (prefixOf(peer) + key) as PackedKey;
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

/** The object comes last. */
function encodeHint(hint: Hint): Buffer {
  const writer = new ByteWriter(32 + hint.object.length);
  return writer.u8(1).u32(hint.token).u64(hint.writtenMs).bytes(hint.object).finish();
}

/** Undefined for bytes that this version did not write. */
function decodeHint(bytes: Uint8Array): Hint | undefined {
  try {
    const reader = new ByteReader(bytes);
    if (reader.u8() !== 1) return undefined;
    const token = reader.u32() as Token;
    const writtenMs = reader.u64();
    const object = reader.bytes();
    reader.end();
    return { token, writtenMs, object };
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}
