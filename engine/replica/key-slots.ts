/**
 * Serializes the changes of each key. A key with changes under way has a slot, which holds its newest object, durable
 * or not, so that each change builds on the one before it. A slot is dropped when it has no more work.
 *
 * A batch changes several keys in one step. It waits until all their slots are loaded, decides with all of them in
 * sight, and passes one atomic batch to the store. Nothing else runs between the decision and the hand-over.
 *
 * Independent changes that come together (`jointly`) are passed to the store as one batch, which costs one write instead
 * of many. Each of them is decided on its own, and may fail on its own until then.
 *
 * A change may be tentative: a crash may take it back, so no other node may learn of it before it is durable. A change
 * on top of a tentative one may contain a part of it. Its `applied` is therefore called only when it is durable, and
 * with it the tentative one.
 */
import { failAssertion, present } from '../base/assert.ts';
import { BytesError } from '../base/bytes.ts';
import type { SendOutcome } from '../base/channel.ts';
import { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import type { NameTable } from '../base/name-table.ts';
import type { PackedKey } from '../base/object-key.ts';
import { TransientMap } from '../base/transient-map.ts';
import type { StoredObject } from './object/object.ts';
import { decodeObject, encodeObject } from './object/object.ts';
import type { StoreWrite } from '../storage/store.ts';

/** The answer to a read. `withheldBytes`: the size of a value on the disk that is larger than the caller asked for. */
export type ReadDone = (
  error: LockstepError | undefined,
  bytes: Uint8Array | undefined,
  withheldBytes?: number,
) => void;
/** Called once: without an error when the write is durable. */
export type WriteDone = (error: LockstepError | undefined) => void;

/** The store as a replica needs it: bounded, and durable before `done`. `tryRead` may answer before it returns. */
export interface LocalStore {
  /** Reads a key. A value longer than `bytesMax` bytes is not fetched from the disk. */
  tryRead(key: PackedKey, done: ReadDone, bytesMax?: number): SendOutcome;
  tryWrite(batch: readonly StoreWrite[], done: WriteDone): SendOutcome;
}

/** A replica's store: fast access to values in memory, and access to copies that must not be served. */
export interface MemoryStore extends LocalStore {
  /**
   * What `tryRead` would answer from memory, counted as a read; `elsewhere` if the disk has the value or an error is
   * due.
   */
  inMemory(key: PackedKey): Uint8Array | undefined | 'elsewhere';
  /**
   * Reads the newest readable value of a key for which `tryRead` answers `Corrupted`; undefined if there is none. A newer
   * one may be lost: the value may be merged, and never served.
   */
  tryReadDoubted(key: PackedKey, done: ReadDone): SendOutcome;
  /**
   * The next write of the key, for which `tryRead` answers `Corrupted`, does not end that: it may lack what was lost.
   */
  keepDoubt(key: PackedKey): void;
  /** Whether `keepDoubt` still holds for the key. */
  keepsDoubt(key: PackedKey): boolean;
  /** Whether `tryReadDoubted` reads the newest record of the key. */
  hasNewest(key: PackedKey): boolean;
}

/** The new object of a key, with its encoded bytes if they are known already. */
export interface Change {
  readonly object: StoredObject;
  readonly bytes: Uint8Array | undefined;
}

/** One change of a key. */
export interface Step {
  readonly token: Token;
  /** No other node may learn of the change before it is durable. */
  readonly tentative?: boolean;
  /**
   * The change from the current object; undefined changes nothing. `lost`, `isNewest`: as in `Newest`. May throw a
   * `LockstepError`.
   */
  next(current: StoredObject | undefined, lost: boolean, isNewest: boolean): Change | undefined;
  /** The new object has been passed to the store, and other nodes may learn of it. */
  applied(object: StoredObject, bytes: Uint8Array): void;
  /** Called once: without an error when the change is durable. */
  done(error: LockstepError | undefined): void;
}

/** One key of a batch. */
export interface Place {
  readonly key: PackedKey;
  readonly token: Token;
}

/** The result of a batch step: per place its change, if any, and further records of the same atomic write. */
export interface BatchChange {
  readonly changes: readonly (Change | 'removed' | undefined)[];
  readonly records: readonly StoreWrite[];
}

/** A change of several keys at once. Each method is called at most once, perhaps before `batch` returns. */
export interface BatchStep {
  /** No other node may learn of the batch before it is durable. */
  readonly tentative?: boolean;
  /** Decides, given the newest objects of all places; undefined changes nothing. May throw a `LockstepError`. */
  next(newest: readonly Newest[]): BatchChange | undefined;
  /**
   * The batch has been passed to the store, perhaps on top of a tentative change. A caller that sends it before it is
   * durable must have a durable decision behind it, and values that replace all others: then a crash takes back nothing
   * that other nodes have seen. `bytes`: per place its new bytes, undefined where nothing changed.
   */
  applied(bytes: readonly (Uint8Array | undefined)[]): void;
  done(error: LockstepError | undefined): void;
}

/** A batch that waits for its slots. Each slot is reported once: held for the batch from now on, or failed. */
interface Holder {
  reached(slot: Slot | undefined, error: LockstepError | undefined): void;
}

/** A key's newest object. */
export interface Newest {
  /**
   * With `lost`, the newest copy that can be read. Its siblings and its context are true and must not be forgotten; but
   * nothing may depend on it as the present object.
   */
  readonly object: StoredObject | undefined;
  /** A newer copy exists, or may exist, and cannot be read; or one did, and this copy may lack a part of it. */
  readonly lost: boolean;
  /** The object is what the newest record of the key holds. Always true unless `lost`. */
  readonly isNewest: boolean;
}

interface Slot {
  readonly key: PackedKey;
  /** Undefined until the store has answered. */
  current: Newest | undefined;
  /** Changes that wait for the store's answer; undefined once it is there. */
  waiting: (Step | Holder)[] | undefined;
  /** Writes passed to the store and not yet answered. */
  writing: number;
  /** The tentative ones among them. */
  tentative: number;
  /** Reasons to keep the slot although no write is under way. */
  holds: number;
  /** A change of the key belongs to the joint write that is being collected. */
  joined: boolean;
}

/** A change that waits for the others of its joint write. */
interface JointWrite {
  readonly slot: Slot;
  readonly step: Step;
  readonly object: StoredObject;
  readonly bytes: Uint8Array;
  /** On top of a tentative change: other nodes may learn of it once it is durable. */
  readonly secret: boolean;
}

/** The slots of one replica. */
export class Slots {
  readonly #store: MemoryStore;
  readonly #actors: NameTable;
  readonly #estranged: (key: PackedKey) => void;
  #stored: (key: PackedKey, token: Token, object: StoredObject) => void = () => undefined;
  #onDoubt: (key: PackedKey, token: Token) => void = () => undefined;
  readonly #slots = new TransientMap<PackedKey, Slot>();
  /** What `jointly` collects. */
  #joint: JointWrite[] | undefined;

  /**
   * Decodes objects with the name table `actors`. Calls `estranged` with a key when it is not, or no longer, known
   * whether the last write passed to the store is there.
   */
  constructor(store: MemoryStore, actors: NameTable, estranged: (key: PackedKey) => void) {
    this.#store = store;
    this.#actors = actors;
    this.#estranged = estranged;
  }

  /** Calls `stored` with every object that is passed to the store. */
  watch(stored: (key: PackedKey, token: Token, object: StoredObject) => void): void {
    const other = this.#stored;
    this.#stored = (key, token, object) => {
      other(key, token, object);
      stored(key, token, object);
    };
  }

  /** Calls `onDoubt` with every key that is written although a newer copy of it is lost, and stays doubtful. */
  onDoubt(onDoubt: (key: PackedKey, token: Token) => void): void {
    this.#onDoubt = onDoubt;
  }

  /** Keys with changes under way. */
  get size(): number {
    return this.#slots.size;
  }

  /** Whether a write that was passed to the store, and is not answered yet, is of a key that `isOne` accepts. */
  isWriting(isOne: (key: PackedKey) => boolean): boolean {
    return this.#slots.values().some(({ key, writing }) => writing > 0 && isOne(key));
  }

  /** Takes the step as soon as the key's newest object is known. */
  submit(key: PackedKey, step: Step): SendOutcome {
    const slot = this.#known(key);
    if (slot?.current === undefined) return this.#wait(key, slot, step);
    slot.holds += 1;
    this.#take(key, slot, step);
    this.#release(slot);
    return 'ok';
  }

  /**
   * Calls `submitAll`, and passes the changes that it submits to the store as one batch. They must be of distinct keys.
   * A change that must wait for the disk is written on its own later.
   */
  jointly(submitAll: () => void): void {
    if (this.#joint !== undefined) failAssertion('joint writes are not nested');
    const joint: JointWrite[] = [];
    this.#joint = joint;
    try {
      submitAll();
    } finally {
      this.#joint = undefined;
    }
    if (joint.length > 0) this.#writeJoint(joint);
  }

  /**
   * Takes the step now. False, and nothing is done, if it would have to wait: the newest object is not in memory, or is
   * on top of a tentative change, of which other nodes may not learn yet.
   */
  submitNow(key: PackedKey, step: Step): boolean {
    const slot = this.#known(key);
    if (slot?.current === undefined) return false;
    slot.holds += 1;
    const isOpen = slot.tentative === 0;
    if (isOpen) this.#take(key, slot, step);
    this.#release(slot);
    return isOpen;
  }

  /** Takes a step of several distinct keys. Without keys, its records alone are written. */
  batch(places: readonly Place[], step: BatchStep): void {
    const held: Slot[] = [];
    for (const { key } of places) {
      const slot = this.#known(key);
      if (slot?.current === undefined) break;
      slot.holds += 1;
      held.push(slot);
    }
    if (held.length === places.length) {
      this.#takeBatch(places, held, step);
      for (const slot of held) this.#release(slot);
    } else {
      this.#gather(places, held, step);
    }
  }

  /** Takes the step once the slots of all places are held. `held` are those of the first places. */
  #gather(places: readonly Place[], held: Slot[], step: BatchStep): void {
    const missing = places.slice(held.length);
    let left = missing.length;
    let failure: LockstepError | undefined;
    const holder: Holder = {
      reached: (slot, error) => {
        if (slot !== undefined) held.push(slot);
        else failure ??= error;
        left -= 1;
        if (left > 0) return;
        if (failure === undefined) this.#takeBatch(places, this.#inOrder(places, held), step);
        else step.done(failure);
        for (const one of held) this.#release(one);
      },
    };
    for (const { key } of missing) this.#hold(key, holder);
  }

  /** The key's slot; undefined if there is none and the disk must be read. */
  #known(key: PackedKey): Slot | undefined {
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    const bytes = this.#store.inMemory(key);
    const current = bytes === 'elsewhere' ? undefined : decodeStored(bytes, this.#actors);
    // A value that does not decode is read again by `#load`, which reports the error.
    if (current === undefined || current instanceof LockstepError) return undefined;
    const slot = { key, current, waiting: undefined, writing: 0, tentative: 0, holds: 0, joined: false };
    this.#slots.insert(key, slot);
    return slot;
  }

  #hold(key: PackedKey, holder: Holder): void {
    const slot = this.#slots.get(key);
    if (slot?.current !== undefined) {
      slot.holds += 1;
      holder.reached(slot, undefined);
      return;
    }
    const outcome = this.#wait(key, slot, holder);
    if (outcome !== 'ok') holder.reached(undefined, refusal(outcome));
  }

  #release(slot: Slot): void {
    slot.holds -= 1;
    if (slot.holds < 0) failAssertion('a slot is released once a hold', slot.holds);
    this.#retire(slot);
  }

  /** The held slots in the order of `places`; slots loaded from the disk were added later. */
  #inOrder(places: readonly Place[], held: readonly Slot[]): readonly Slot[] {
    for (let index = 0; index < places.length; index++)
      if (held[index]?.key !== places[index]?.key)
        return places.map(({ key }) => present(this.#slots.get(key), 'a held slot'));
    return held;
  }

  #wait(key: PackedKey, slot: Slot | undefined, one: Step | Holder): SendOutcome {
    if (slot === undefined) return this.#load(key, one);
    present(slot.waiting, 'a slot that waits for the store').push(one);
    return 'ok';
  }

  #load(key: PackedKey, one: Step | Holder): SendOutcome {
    const slot: Slot = {
      key,
      current: undefined,
      waiting: [one],
      writing: 0,
      tentative: 0,
      holds: 0,
      joined: false,
    };
    this.#slots.set(key, slot);
    const outcome = this.#store.tryRead(key, (error, bytes) => {
      if (error?.code === 'Corrupted') this.#loadDoubted(key, slot);
      else this.#loaded(key, slot, error ?? decodeStored(bytes, this.#actors));
    });
    if (outcome !== 'ok') this.#slots.delete(key);
    return outcome;
  }

  /**
   * The newest copy is lost here. A new value is merged with the newest copy that can be read, since that may hold
   * writes that the new value lacks. The other replicas keep what neither knows of, since the key's fresh actor does not
   * claim to know it. The key stays doubtful until that has been fetched from them (`#keepDoubt`).
   */
  #loadDoubted(key: PackedKey, slot: Slot): void {
    const outcome = this.#store.tryReadDoubted(key, (error, bytes) => {
      const older = decodeStored(bytes, this.#actors);
      const object = older instanceof LockstepError ? undefined : older.object;
      const isNewest = object !== undefined && this.#store.hasNewest(key);
      if (!isNewest) this.#estranged(key);
      this.#loaded(key, slot, error ?? { object, lost: true, isNewest });
    });
    if (outcome !== 'ok') this.#loaded(key, slot, refusal(outcome));
  }

  #loaded(key: PackedKey, slot: Slot, current: Newest | LockstepError): void {
    const { waiting } = slot;
    if (waiting === undefined || slot.current !== undefined)
      return failAssertion('the store answers the read of a slot once');
    if (this.#slots.get(key) !== slot) failAssertion('a key has one slot');
    slot.waiting = undefined;
    if (current instanceof LockstepError) {
      this.#slots.delete(key);
      for (const one of waiting) {
        if ('next' in one) one.done(current);
        else one.reached(undefined, current);
      }
      return;
    }
    slot.current = current;
    slot.holds += 1;
    for (const one of waiting) {
      if ('next' in one) {
        this.#take(key, slot, one);
      } else {
        slot.holds += 1;
        one.reached(slot, undefined);
      }
    }
    slot.holds -= 1;
    this.#retire(slot);
  }

  #take(key: PackedKey, slot: Slot, step: Step): void {
    const current = this.#current(slot);
    let change: Change | undefined;
    try {
      change = step.next(current.object, current.lost, current.isNewest);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      step.done(error);
      return;
    }
    change ??= unsettled(slot);
    if (change === undefined) step.done(undefined);
    else this.#write(key, slot, step, change);
  }

  /** What the slot holds. Its doubt may have ended since it was loaded. */
  #current(slot: Slot): Newest {
    const current = present(slot.current, 'a loaded slot');
    if (!current.lost || !current.isNewest || this.#store.keepsDoubt(slot.key)) return current;
    return (slot.current = { ...current, lost: false });
  }

  /** The object is passed to the store: it is what the slot holds from now on, and as doubtful as before. */
  #pass(slot: Slot, token: Token, object: StoredObject): void {
    const lost = slot.current?.lost === true;
    slot.current = { object, lost, isNewest: true };
    if (lost) this.#onDoubt(slot.key, token);
    this.#stored(slot.key, token, object);
  }

  /** A write must not end the doubt about a copy that is lost. Called before it is passed to the store. */
  #keepDoubt({ key, current }: Slot): void {
    if (current?.lost === true) this.#store.keepDoubt(key);
  }

  #write(key: PackedKey, slot: Slot, step: Step, { object, bytes: known }: Change): void {
    const bytes = known ?? encodeObject(object);
    const secret = slot.tentative > 0;
    if (this.#joint !== undefined && step.tentative !== true) {
      if (slot.joined) failAssertion('the changes of a joint write are of distinct keys');
      slot.joined = true;
      slot.writing += 1;
      this.#joint.push({ slot, step, object, bytes, secret });
      return;
    }
    const tentative = step.tentative === true ? 1 : 0;
    slot.writing += 1;
    slot.tentative += tentative;
    this.#keepDoubt(slot);
    const outcome = this.#store.tryWrite([{ key, token: step.token, value: bytes }], (error) => {
      slot.writing -= 1;
      slot.tentative -= tentative;
      checkWrites(slot);
      if (error !== undefined) this.#estranged(key);
      this.#retire(slot);
      if (secret && error === undefined) step.applied(object, bytes);
      step.done(error);
    });
    if (outcome !== 'ok') {
      slot.writing -= 1;
      slot.tentative -= tentative;
      this.#retire(slot);
      step.done(refusal(outcome));
      return;
    }
    this.#pass(slot, step.token, object);
    if (!secret) step.applied(object, bytes);
  }

  /** Passes the changes of distinct keys to the store as one batch. Their slots count them as writes under way already. */
  #writeJoint(joint: readonly JointWrite[]): void {
    const batch: StoreWrite[] = [];
    for (const { slot, step, bytes } of joint) {
      slot.joined = false;
      this.#keepDoubt(slot);
      batch.push({ key: slot.key, token: step.token, value: bytes });
    }
    const outcome = this.#store.tryWrite(batch, (error) => {
      for (const { slot, step, object, bytes, secret } of joint) {
        slot.writing -= 1;
        checkWrites(slot);
        if (error !== undefined) this.#estranged(slot.key);
        this.#retire(slot);
        if (secret && error === undefined) step.applied(object, bytes);
        step.done(error);
      }
    });
    if (outcome !== 'ok') {
      for (const { slot, step } of joint) {
        slot.writing -= 1;
        this.#retire(slot);
        step.done(refusal(outcome));
      }
      return;
    }
    for (const { slot, step, object, bytes, secret } of joint) {
      this.#pass(slot, step.token, object);
      if (!secret) step.applied(object, bytes);
    }
  }

  #takeBatch(places: readonly Place[], slots: readonly Slot[], step: BatchStep): void {
    if (places.length !== slots.length)
      failAssertion('a batch holds one slot a place', places.length, slots.length);
    for (let index = 0; index < places.length; index++)
      if (places[index]?.key !== slots[index]?.key)
        failAssertion('slots are in the order of the places', index);
    let next: BatchChange | undefined;
    try {
      next = step.next(slots.map((slot) => this.#current(slot)));
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      step.done(error);
      return;
    }
    if (next === undefined) step.done(undefined);
    else this.#writeBatch(places, slots, step, next);
  }

  #writeBatch(places: readonly Place[], slots: readonly Slot[], step: BatchStep, next: BatchChange): void {
    const batch: StoreWrite[] = [];
    const written: Slot[] = [];
    const changes: (Change | 'removed')[] = [];
    const bytes = new Array<Uint8Array | undefined>(places.length);
    for (let index = 0; index < places.length; index++) {
      const { key, token } = present(places[index], 'a place');
      const slot = present(slots[index], 'the slot of a place');
      const change = next.changes[index] ?? unsettled(slot);
      if (change === undefined) continue;
      const value = change === 'removed' ? undefined : (change.bytes ?? encodeObject(change.object));
      bytes[index] = value;
      batch.push({ key, token, value });
      written.push(slot);
      changes.push(change);
    }
    for (const record of next.records) batch.push(record);
    if (batch.length === 0) {
      step.done(undefined);
      return;
    }
    const tentative = step.tentative === true ? 1 : 0;
    for (const slot of written) {
      slot.writing += 1;
      slot.tentative += tentative;
      this.#keepDoubt(slot);
    }
    const settle = (): void => {
      for (const slot of written) {
        slot.writing -= 1;
        slot.tentative -= tentative;
        checkWrites(slot);
        this.#retire(slot);
      }
    };
    const outcome = this.#store.tryWrite(batch, (error) => {
      if (error !== undefined) for (const { key } of written) this.#estranged(key);
      settle();
      step.done(error);
    });
    if (outcome !== 'ok') {
      settle();
      step.done(refusal(outcome));
      return;
    }
    for (let index = 0; index < written.length; index++) {
      const slot = present(written[index], 'a written slot');
      const change = present(changes[index], 'its change');
      // What comes until the removal is durable finds nothing, and is written behind it.
      if (change === 'removed') slot.current = nothingHeld;
      else this.#pass(slot, present(batch[index], 'its write').token, change.object);
    }
    step.applied(bytes);
  }

  #retire(slot: Slot): void {
    if (slot.writing > 0 || slot.holds > 0) return;
    const retired = this.#slots.delete(slot.key);
    if (retired !== undefined && retired !== slot) failAssertion('a slot retires itself alone');
  }
}

function checkWrites({ writing, tentative }: Slot): void {
  if (tentative < 0 || tentative > writing)
    failAssertion('the store answers each write of a slot once', writing, tentative);
}

/** The error of a store that refused a request. */
export function refusal(outcome: 'full' | 'closed'): LockstepError {
  return outcome === 'full'
    ? new LockstepError('Overloaded', "the store's queue is full; try again later")
    : new LockstepError('StorageFailed', 'the store takes no more requests');
}

/**
 * Nothing changes, but the current object is not durable yet: writes it again, so that the answer is not given too
 * early.
 */
function unsettled(slot: Slot): Change | undefined {
  const object = slot.current?.object;
  return slot.writing > 0 && object !== undefined ? { object, bytes: undefined } : undefined;
}

const nothingHeld: Newest = { object: undefined, lost: false, isNewest: true };

function decodeStored(bytes: Uint8Array | undefined, actors: NameTable): Newest | LockstepError {
  if (bytes === undefined) return nothingHeld;
  try {
    return { object: decodeObject(bytes, actors), lost: false, isNewest: true };
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    return new LockstepError('Corrupted', `a stored object does not decode: ${error.message}`);
  }
}
