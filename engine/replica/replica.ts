/**
 * This node as a replica: reads, merges and coordinates writes of objects in the store, with causality.
 *
 * Reads return durable objects only. Writes of one key are applied one after the other, each on top of the one before
 * it, although that one may not be durable yet (`key-slots.ts`). No two writes of this incarnation have the same dot.
 * If this node's copy cannot be read, a write stands beside what the other replicas hold (`actor-ids.ts`), and a write
 * with a condition is refused (`Corrupted`).
 *
 * Left to others: which replicas take part (`replication/plan.ts`) and how many must succeed (`replication/tally.ts`).
 */
import { present } from '../base/assert.ts';
import { BytesError } from '../base/bytes.ts';
import type { SendOutcome } from '../base/channel.ts';
import { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import type { RequestTimes } from '../base/request-times.ts';
import type { OpenSpan } from '../base/request-trace.ts';
import { sometimes } from '../base/sometimes.ts';
import { NameTable } from '../base/name-table.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { Clock } from '../io/clock.ts';
import type { Content } from './object/content.ts';
import { dateOfWrite } from './object/dates.ts';
import type { Actor, Dot, VersionVector } from './object/dots.ts';
import { compareDots, emptyVector, highestCounter, seenCounterMax } from './object/dots.ts';
import { mayExpire } from './object/expiry.ts';
import type { StoredObject } from './object/object.ts';
import {
  applyWrite,
  basisOf,
  decodeObject,
  encodeObject,
  mergeObjects,
  replaceWith,
  resolveToNewest,
  sameObject,
  siblingsMax,
} from './object/object.ts';
import type { ContextLimits, OnPruned } from './object/prune.ts';
import { entriesGone, pruneContext } from './object/prune.ts';
import type { StoreWrite } from '../storage/store.ts';
import { ActorIds } from './actor-ids.ts';
import { ReapedKeys } from './reaped-keys.ts';
import type { ReapItem } from './reap-messages.ts';
import { markOf } from './reap-messages.ts';
import type { Change, MemoryStore, Newest, Place, ReadDone, WriteDone } from './key-slots.ts';
import { Slots, refusal } from './key-slots.ts';
import { EpochAdmission } from './epoch-admission.ts';
import type { ManyListener } from './one-of-many.ts';
import { OneOfMany, checkConditions, unreadable } from './one-of-many.ts';

/** The bucket properties that decide what a write leaves behind. Without limits, contexts are not pruned. */
export interface ConflictRules extends Partial<ContextLimits> {
  readonly allowMult: boolean;
  readonly lastWriteWins: boolean;
}

/** A client's write at its coordinating replica. */
export interface LocalWrite {
  readonly key: PackedKey;
  readonly token: Token;
  readonly seen: VersionVector;
  readonly content: Content;
  readonly ifNoneMatch: boolean;
  /** The stored context must equal this one; undefined: no condition. */
  readonly ifContext: VersionVector | undefined;
  /**
   * The write replaces whatever this replica holds, and `seen` is empty. Fails with `PreconditionFailed`, and writes
   * nothing, if that is not known, depends on a transaction under way, or may expire while deletions have no basis.
   */
  readonly replaces?: boolean;
  /** The content was made from what `seen` covers: a concurrent write of the same time wins over it (`basisOf`). */
  readonly fromRead?: boolean;
  /** Where to note how long the steps take. */
  readonly times?: RequestTimes | undefined;
  /** The span of the dispatch, if the client's request is traced. */
  readonly span?: OpenSpan | undefined;
}

/** Observes a coordinated write. Each method is called at most once, perhaps before `coordinate` returns. */
export interface WriteListener {
  /**
   * A crash may take the write back for good: no other node may learn of it before it is durable, not through later
   * writes.
   */
  readonly tentative?: boolean;
  /** The write has its dot: this object is on its way to the local disk and may be sent to the other replicas. */
  applied(object: StoredObject, bytes: Uint8Array): void;
  /** The object is durable here. */
  durable(): void;
  /** Before `applied`: the write did not happen here. After it: the write may not be durable. */
  failed(error: LockstepError): void;
}

/** Observes a batch: a client's writes to several keys, all or none. As `WriteListener`. */
export interface BatchListener {
  /**
   * A crash may take the batch back for good: no other node may learn of it before it is durable, not through later
   * writes.
   */
  readonly tentative?: boolean;
  /**
   * The writes are on their way to the local disk. `objects`: the bytes of each write's object, for the other replicas.
   */
  applied(objects: readonly Uint8Array[]): void;
  durable(): void;
  failed(error: LockstepError): void;
}

/** Another replica's object. */
export interface IncomingObject extends Place {
  readonly bytes: Uint8Array;
}

/** Makes readers of some keys wait while a transaction that may have changed them is undecided. */
export interface ReadGate {
  /** Whether readers of the key must wait now. */
  closed(key: PackedKey): boolean;
  /** Whether writers must wait too: a client may know of a write of the key that is not applied here yet. */
  ordersWrites(key: PackedKey): boolean;
  /** Calls `proceed` once: when the gate opens, or with an error for a reader that has waited too long. */
  wait(key: PackedKey, proceed: (error: LockstepError | undefined) => void): void;
}

/** The replica of one node. Methods that take `done` call it exactly once, perhaps before they return. */
export class Replica {
  /** What carries a former epoch of a flushed bucket is refused with `StaleEpoch`; a later one is learnt first. */
  readonly epochs = new EpochAdmission();
  readonly #store: MemoryStore;
  readonly #clock: Clock;
  readonly #names: ActorIds;
  /** Interns the actors of the objects that are read here. */
  readonly #actors = new NameTable();
  readonly #rules: (key: PackedKey) => ConflictRules;
  readonly #mayHaveBasis: () => boolean;
  readonly #slots: Slots;
  readonly #forgotten = new ReapedKeys();
  readonly #writtenNow = (
    write: LocalWrite,
    current: StoredObject | undefined,
    lost: boolean,
  ): StoredObject => this.#written(write, current, lost);
  #gate: ReadGate | undefined;
  #onPruned: OnPruned = nothing;

  /** `mayHaveBasis`: whether all nodes read objects whose writes have a basis (`basisOf`). */
  constructor(
    store: MemoryStore,
    clock: Clock,
    actor: Actor,
    rules: (key: PackedKey) => ConflictRules,
    mayHaveBasis: () => boolean = () => true,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#names = new ActorIds(actor);
    this.#rules = rules;
    this.#mayHaveBasis = mayHaveBasis;
    this.#slots = new Slots(store, this.#actors, (key) => this.#names.renounce(key));
  }

  /** Keys with writes under way. */
  get busyKeys(): number {
    return this.#slots.size;
  }

  /** Whether a write of a key that `isOne` accepts is on its way to the disk. */
  isWriting(isOne: (key: PackedKey) => boolean): boolean {
    return this.#slots.isWriting(isOne);
  }

  /** A lower bound: later writes of this incarnation have higher counters, under this actor or one derived from it. */
  get mark(): Dot {
    return this.#names.mark;
  }

  /** Whether a key may hold a write of this incarnation with a counter above that of `mark`. */
  get mayExceedMark(): boolean {
    return this.#names.mayExceedMark;
  }

  /** Installs the gate for which reads of its keys wait from now on. */
  guard(gate: ReadGate): void {
    this.#gate = gate;
  }

  /** Calls `onPruned` whenever a write that this replica coordinates prunes a context. */
  onPruned(onPruned: OnPruned): void {
    this.#onPruned = onPruned;
  }

  /** Calls `stored` with every object that is on its way to the disk. */
  watch(stored: (key: PackedKey, token: Token, object: StoredObject) => void): void {
    this.#slots.watch(stored);
  }

  /** Calls `onDoubt` with every key that is written although a newer copy of it is lost (`cluster/changes/lost-keys.ts`). */
  onDoubt(onDoubt: (key: PackedKey, token: Token) => void): void {
    this.#slots.onDoubt(onDoubt);
  }

  /**
   * Removes the item's tombstone if the key still holds exactly that, and the read gate is open. The replica remembers
   * it for a while, so that a message under way, or a node that has lost its tombstone with a part of its disk, does not
   * bring back a value that it had replaced.
   */
  forget({ key, token, mark }: ReapItem, done: (gone: boolean) => void): void {
    const isThat = (bytes: Uint8Array): boolean => markOf(bytes) === mark;
    this.#remove(key, token, isThat, (bytes) => this.#forgotten.keep(key, bytes), done);
  }

  /**
   * Removes the object of a key if `isThat` accepts its bytes and the read gate is open. Nothing is remembered: other
   * nodes hold the object and may return it.
   */
  discard(
    key: PackedKey,
    token: Token,
    isThat: (bytes: Uint8Array) => boolean,
    done: (gone: boolean) => void,
  ): void {
    this.#remove(key, token, isThat, () => undefined, done);
  }

  #remove(
    key: PackedKey,
    token: Token,
    isThat: (bytes: Uint8Array) => boolean,
    removing: (bytes: Uint8Array) => void,
    done: (gone: boolean) => void,
  ): void {
    let found = false;
    this.#slots.batch([{ key, token }], {
      next: ([newest]) => {
        const current = newest?.lost === true ? undefined : newest?.object;
        if (current === undefined || this.#gate?.closed(key) === true) return undefined;
        const bytes = encodeObject(current);
        if (!isThat(bytes)) return undefined;
        found = true;
        removing(bytes);
        if (this.#names.isAhead(current.context)) this.#names.renounce(key);
        return { changes: ['removed'], records: [] };
      },
      applied: () => undefined,
      done: (error) => done(error === undefined && found),
    });
  }

  /** Whether this replica has recently removed exactly that tombstone, and no later one of the key. */
  hasForgotten({ key, mark }: ReapItem): boolean {
    return this.#forgotten.has(key, mark);
  }

  /** Whether a read of the key waits for a transaction now. */
  isClosed(key: PackedKey): boolean {
    return this.#gate?.closed(key) === true;
  }

  /** Reads the stored bytes of a key. A value longer than `bytesMax` bytes is not fetched from the disk. */
  read(key: PackedKey, done: ReadDone, bytesMax?: number): SendOutcome {
    if (this.epochs.isPresent(key)) return this.#read(key, done, bytesMax);
    this.epochs.admit([key], (error) => {
      const outcome = error === undefined ? this.#read(key, done, bytesMax) : error;
      if (outcome !== 'ok') done(outcome instanceof LockstepError ? outcome : refusal(outcome), undefined);
    });
    return 'ok';
  }

  #read(key: PackedKey, done: ReadDone, bytesMax: number | undefined): SendOutcome {
    if (this.#gate?.closed(key) !== true) return this.#store.tryRead(key, done, bytesMax);
    this.#gate.wait(key, (error) => {
      if (error !== undefined) {
        done(error, undefined);
        return;
      }
      const outcome = this.#store.tryRead(key, done, bytesMax);
      if (outcome !== 'ok') done(refusal(outcome), undefined);
    });
    return 'ok';
  }

  /**
   * The newest objects of some distinct keys at one instant, durable or not. `Corrupted`, with the others, if one of
   * them is lost, or may be.
   */
  newest(
    places: readonly Place[],
    done: (error: LockstepError | undefined, objects: readonly (StoredObject | undefined)[]) => void,
  ): void {
    let seen: readonly Newest[] = [];
    this.#slots.batch(places, {
      next: (newest) => {
        seen = newest;
        return undefined;
      },
      applied: () => undefined,
      done: (error) => {
        const objects = seen.map(({ object, lost }) => (lost ? undefined : object));
        done(error ?? (seen.some(({ lost }) => lost) ? unreadable() : undefined), objects);
      },
    });
  }

  /**
   * Merges another replica's object into this one's; `done` when the result is durable here. `sole`: the only sibling
   * is now the one merged, and it may replace what was here (`#isOpen`).
   * `applied`: the result is on its way to the disk.
   */
  merge(
    key: PackedKey,
    token: Token,
    bytes: Uint8Array,
    done: (error: LockstepError | undefined, sole: boolean) => void,
    applied: () => void = nothing,
  ): SendOutcome {
    if (this.epochs.isPresent(key)) return this.#merge(key, token, bytes, done, applied);
    // The bytes are the caller's only during the call.
    const own = Buffer.from(bytes);
    this.epochs.admit([key], (error) => {
      const outcome = error === undefined ? this.#merge(key, token, own, done, applied) : error;
      if (outcome !== 'ok') done(outcome instanceof LockstepError ? outcome : refusal(outcome), false);
    });
    return 'ok';
  }

  #merge(
    key: PackedKey,
    token: Token,
    bytes: Uint8Array,
    done: (error: LockstepError | undefined, sole: boolean) => void,
    applied: () => void,
  ): SendOutcome {
    const incoming = decodeIncoming(bytes, this.#actors);
    if (incoming instanceof LockstepError) {
      done(incoming, false);
      return 'ok';
    }
    let sole = false;
    return this.#slots.submit(key, {
      token,
      next: (current, lost, isNewest) => {
        const change = this.#merged(key, { object: current, lost, isNewest }, { object: incoming, bytes });
        const after = change?.object ?? (this.#mayHaveBasis() ? current : undefined);
        sole = !lost && after !== undefined && this.#isSole(key, current, incoming, after);
        return change;
      },
      applied,
      done: (error) => done(error, sole),
    });
  }

  #isSole(
    key: PackedKey,
    current: StoredObject | undefined,
    incoming: StoredObject,
    { siblings }: StoredObject,
  ): boolean {
    const [only] = siblings;
    if (only === undefined || siblings.length > 1 || this.#isOpen(key, current) !== true) return false;
    return incoming.siblings.some(({ dot }) => compareDots(dot, only.dot) === 0);
  }

  /**
   * Whether a write may replace what the key holds without regard to it. Whatever a transaction or the deletion of an
   * expired value makes of what it has read yields to the write, if it may have a basis. A transaction that reads nothing
   * may replace the write, unless a client may know already that it came first.
   */
  #isOpen(key: PackedKey, current: StoredObject | undefined): boolean {
    if (this.#mayHaveBasis()) return this.#gate?.ordersWrites(key) !== true;
    return this.#gate?.closed(key) !== true && (current === undefined || !mayExpire(current));
  }

  /**
   * Merges the objects of several independent writes of distinct keys, each as `merge` does. What is in memory is
   * written to the store as one batch. `done` is called once for each, by its index.
   */
  mergeMany(
    incoming: readonly IncomingObject[],
    done: (index: number, error: LockstepError | undefined, sole: boolean) => void,
  ): void {
    this.#slots.jointly(() => {
      for (const [index, { key, token, bytes }] of incoming.entries()) {
        const outcome = this.merge(key, token, bytes, (error, sole) => done(index, error, sole));
        if (outcome !== 'ok') done(index, refusal(outcome), false);
      }
    });
  }

  /**
   * Coordinates several independent writes of distinct keys, each as `coordinate` does, and writes them to the store as
   * one batch. A write that would have to wait (for the disk, a transaction, or a tentative write) is `unready`.
   */
  coordinateMany(writes: readonly LocalWrite[], listener: ManyListener): void {
    this.#slots.jointly(() => {
      for (let index = 0; index < writes.length; index++) {
        const write = present(writes[index], 'a write');
        const step = new OneOfMany(listener, index, write, this.#writtenNow);
        if (this.#gate?.ordersWrites(write.key) === true || !this.#slots.submitNow(write.key, step))
          listener.unready(index);
      }
    });
  }

  /** Coordinates a client's write: checks its conditions, gives it a dot and stores the result. */
  coordinate(write: LocalWrite, listener: WriteListener): SendOutcome {
    if (this.#gate?.ordersWrites(write.key) !== true) return this.#coordinate(write, listener);
    // A writer that has waited long enough writes anyway, without the writes it waited for.
    this.#gate.wait(write.key, () => {
      const outcome = this.#coordinate(write, listener);
      if (outcome !== 'ok') listener.failed(refusal(outcome));
    });
    return 'ok';
  }

  #coordinate(write: LocalWrite, listener: WriteListener): SendOutcome {
    return this.#slots.submit(write.key, {
      token: write.token,
      tentative: listener.tentative === true,
      next: (current, lost) => ({ object: this.#written(write, current, lost), bytes: undefined }),
      applied: (object, bytes) => listener.applied(object, bytes),
      done: (error) => (error === undefined ? listener.durable() : listener.failed(error)),
    });
  }

  /** Merges several objects of another replica in one atomic step, together with the caller's `records`. */
  mergeAll(
    incoming: readonly IncomingObject[],
    done: WriteDone,
    records: readonly StoreWrite[] = [],
    applied: () => void = nothing,
  ): void {
    if (incoming.every(({ key }) => this.epochs.isPresent(key))) {
      this.#mergeAll(incoming, done, records, applied);
      return;
    }
    // The bytes are the caller's only during the call.
    const own = incoming.map(({ key, token, bytes }) => ({ key, token, bytes: Buffer.from(bytes) }));
    const kept = records.map(({ key, token, value }) => {
      return { key, token, value: value === undefined ? undefined : Buffer.from(value) };
    });
    this.epochs.admit(
      own.map(({ key }) => key),
      (error) => (error === undefined ? this.#mergeAll(own, done, kept, applied) : done(error)),
    );
  }

  #mergeAll(
    incoming: readonly IncomingObject[],
    done: WriteDone,
    records: readonly StoreWrite[],
    applied: () => void,
  ): void {
    const decoded: Change[] = [];
    for (const { bytes } of incoming) {
      const object = decodeIncoming(bytes, this.#actors);
      if (object instanceof LockstepError) {
        done(object);
        return;
      }
      decoded.push({ object, bytes });
    }
    this.#slots.batch(incoming, {
      next: (newest) => ({
        changes: incoming.map(({ key }, index) =>
          this.#merged(
            key,
            present(newest[index], 'what the key of an object holds'),
            present(decoded[index], 'a decoded object'),
          ),
        ),
        records,
      }),
      applied,
      done,
    });
  }

  /**
   * Coordinates writes to distinct keys as one atomic batch, together with the caller's `records`. The limit of
   * siblings does not apply: the caller has already promised these writes (see `vet`).
   */
  coordinateAll(
    writes: readonly LocalWrite[],
    records: readonly StoreWrite[],
    listener: BatchListener,
  ): void {
    this.#slots.batch(writes, {
      tentative: listener.tentative === true,
      next: (newest) => ({
        changes: writes.map((write, index) => {
          const { object: current, lost } = present(newest[index], 'what the key of a write holds');
          checkConditions(write, current, lost);
          return { object: this.#made(write, current), bytes: undefined };
        }),
        records,
      }),
      applied: (bytes) => listener.applied(bytes.map((one) => present(one, 'the bytes of a written object'))),
      done: (error) => (error === undefined ? listener.durable() : listener.failed(error)),
    });
  }

  /**
   * Throws what `coordinate` would throw for a write on top of `current`. For a caller that promises to write later.
   */
  vet(write: LocalWrite, current: StoredObject | undefined): void {
    checkConditions(write, current, false);
    this.#checkSeen(write, current);
    const { allowMult, lastWriteWins } = this.#rules(write.key);
    if (!allowMult || lastWriteWins || current === undefined) return;
    if (current.siblings.length >= siblingsMax) throw tooManySiblings();
  }

  /**
   * If the newest copy cannot be read, the result is written in any case: it is from then on the newest copy here.
   *
   * If a removed tombstone had replaced what comes in, the tombstone is written again. The node that sent this, or that
   * still holds it, has missed the deletion, and anti-entropy brings it the tombstone; the reaper then removes it from
   * all nodes again. The removed tombstone itself is not taken back: its sender's reaper removes it there.
   */
  #merged(key: PackedKey, { object: current, isNewest }: Newest, incoming: Change): Change | undefined {
    const reaped = current === undefined ? this.#forgotten.coverOf(key, incoming.object) : undefined;
    const base = current ?? reaped;
    const merged = base === undefined ? incoming.object : mergeObjects(base, incoming.object);
    const object = this.#rules(key).allowMult ? merged : resolveToNewest(merged);
    if (reaped !== undefined) {
      if (isNewest && sameObject(incoming.object, reaped)) return undefined;
      sometimes('tombstone.stored-again');
    }
    if (current !== undefined && isNewest && sameObject(object, current)) return undefined;
    // Mostly the sender knew everything that is known here: then its bytes are the result's.
    return sameObject(object, incoming.object) ? incoming : { object, bytes: undefined };
  }

  #written(write: LocalWrite, current: StoredObject | undefined, lost: boolean): StoredObject {
    checkConditions(write, current, lost);
    if (write.replaces === true && (lost || !this.#isOpen(write.key, current)))
      throw new LockstepError('PreconditionFailed', 'what the key holds must be read first');
    this.#checkSeen(write, current);
    const object = this.#made(write, current, this.#gate?.closed(write.key) === true);
    if (object.siblings.length > siblingsMax) throw tooManySiblings();
    return object;
  }

  /**
   * Checks a client's context. It may only name dots of this node that were minted, since others would cover writes to
   * come; and no counter that no clock has reached, since that would win over all other writes. Throws `BadRequest`.
   */
  #checkSeen(write: LocalWrite, current: StoredObject | undefined): void {
    if (write.seen.length === 0) return;
    const known = Math.max(this.#names.counter, highestCounter(current?.context ?? emptyVector));
    const forged = this.#names.isForged(write.seen);
    if (forged || highestCounter(write.seen) > seenCounterMax(known, this.#clock.wallMs())) {
      throw new LockstepError('BadRequest', 'the causal context names writes that never happened');
    }
  }

  #made(write: LocalWrite, current: StoredObject | undefined, held = false): StoredObject {
    const rules = this.#rules(write.key);
    const overAll = rules.lastWriteWins || write.replaces === true;
    const seen = overAll && current !== undefined ? current.context : write.seen;
    const nowMs = this.#clock.wallMs();
    const dot = this.#names.next(write.key, current?.context ?? emptyVector, write.seen, nowMs, held);
    const dateMs = dateOfWrite(current, nowMs);
    const basis = write.fromRead === true && !overAll && this.#mayHaveBasis() ? basisOf(seen, dot) : 0;
    let object: StoredObject;
    if (basis !== 0) {
      object = applyWrite(current, seen, write.content, dot, dateMs, basis);
      if (!rules.allowMult) object = resolveToNewest(object);
    } else object = (rules.allowMult ? applyWrite : replaceWith)(current, seen, write.content, dot, dateMs);
    const kept = hasLimits(rules) ? pruneContext(object, rules, nowMs) : object;
    if (kept !== object) this.#onPruned(write.key, dot, entriesGone(object, kept), kept.context.length);
    return kept;
  }
}

function hasLimits(rules: ConflictRules): rules is ConflictRules & ContextLimits {
  return rules.smallVclock !== undefined;
}

function tooManySiblings(): LockstepError {
  return new LockstepError(
    'TooLarge',
    `the key has ${siblingsMax} siblings; read them and write with their context`,
  );
}

function decodeIncoming(bytes: Uint8Array, actors: NameTable): StoredObject | LockstepError {
  try {
    return decodeObject(bytes, actors);
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    return new LockstepError('BadRequest', `an object that does not decode: ${error.message}`);
  }
}

function nothing(): void {
  // The default of a callback: its caller waits for durability alone, or no listener is set.
}
