/**
 * The keys of this replica that have changes under way. Changes to one key are made one after the other: the newest
 * object of such a key is kept in memory (its slot), durable or not, so that each change builds on the one before it.
 * A slot lives while it has work.
 *
 * A batch changes several keys in one step: it waits until all their slots are loaded, decides with all of them in
 * sight, and hands the store one atomic batch. Between the decision and the hand-over nothing else runs.
 *
 * A change may be tentative: if a crash takes it back nobody may have heard of it. What is written on top of such a one
 * may hold a part of it, so `applied` is called for that one only when it is durable, and the first with it.
 */
import { assert, present } from '../base/assert.ts';
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

/** `withheldBytes`: the disk has so many, more than were asked for. */
export type ReadDone = (
  error: LockstepError | undefined,
  bytes: Uint8Array | undefined,
  withheldBytes?: number,
) => void;
export type WriteDone = (error: LockstepError | undefined) => void;

/** The store as a replica needs it: bounded, durable before `done`. `tryRead` may answer before it returns. */
export interface LocalStore {
  /** What is longer than `bytesMax` is not fetched from the disk. */
  tryRead(key: PackedKey, done: ReadDone, bytesMax?: number): SendOutcome;
  tryWrite(batch: readonly StoreWrite[], done: WriteDone): SendOutcome;
}

/** The same for whoever is to read many keys quickly. */
export interface MemoryStore extends LocalStore {
  /** What `tryRead` would answer at once, counted as a read; `elsewhere`: the disk has it, or something is wrong. */
  inMemory(key: PackedKey): Uint8Array | undefined | 'elsewhere';
}

/** What a key shall hold, with its bytes where they are known already. */
export interface Change {
  readonly object: StoredObject;
  readonly bytes: Uint8Array | undefined;
}

/**
 * The next change to a key: from what is there to what shall be, or undefined when nothing changes. What is `lost` was
 * there and cannot be read.
 */
export interface Step {
  readonly token: Token;
  /** Nobody else may hear of it before it is durable. */
  readonly tentative?: boolean;
  next(current: StoredObject | undefined, lost: boolean): Change | undefined;
  /** The new object has been handed to the store, and others may hear of it. */
  applied(object: StoredObject, bytes: Uint8Array): void;
  done(error: LockstepError | undefined): void;
}

/** One key of a batch. */
export interface Place {
  readonly key: PackedKey;
  readonly token: Token;
}

/** What a batch leaves: per place its change, or undefined where nothing changes, and records that go with it. */
export interface BatchChange {
  readonly changes: readonly (Change | undefined)[];
  readonly records: readonly StoreWrite[];
}

/** A change of several keys at once. Each method is called at most once, perhaps before `batch` returns. */
export interface BatchStep {
  /** Nobody else may hear of it before it is durable. */
  readonly tentative?: boolean;
  /** Decides, with the newest objects of all places; undefined changes nothing. May throw a `LockstepError`. */
  next(newest: readonly Newest[]): BatchChange | undefined;
  /** The batch has been handed to the store: per place the bytes it has now, undefined where nothing changed. */
  applied(bytes: readonly (Uint8Array | undefined)[]): void;
  done(error: LockstepError | undefined): void;
}

/** A batch waiting for its slots: told of each, held for it now, or why there is none. */
interface Holder {
  reached(slot: Slot | undefined, error: LockstepError | undefined): void;
}

/** A key's newest object; lost: there is one, and it cannot be read. */
export interface Newest {
  readonly object: StoredObject | undefined;
  readonly lost: boolean;
}

interface Slot {
  readonly key: PackedKey;
  /** Undefined until the store was asked. */
  current: Newest | undefined;
  /** Who waits for the store's answer; undefined once it is there. */
  waiting: (Step | Holder)[] | undefined;
  /** Writes handed to the store and not yet answered. */
  writing: number;
  /** Of them, the tentative ones. */
  tentative: number;
  /** Reasons for it to stay although nothing is written at this instant. */
  holds: number;
}

export class Slots {
  readonly #store: MemoryStore;
  readonly #actors: NameTable;
  readonly #estranged: (key: PackedKey) => void;
  #stored: (key: PackedKey, token: Token, object: StoredObject) => void = () => undefined;
  readonly #slots = new TransientMap<PackedKey, Slot>();

  /**
   * Reads objects with `actors`. Calls `estranged` when what was last to be stored under a key is not, or no longer,
   * known to be there.
   */
  constructor(store: MemoryStore, actors: NameTable, estranged: (key: PackedKey) => void) {
    this.#store = store;
    this.#actors = actors;
    this.#estranged = estranged;
  }

  /** Calls `stored` with every object that is handed to the store. */
  watch(stored: (key: PackedKey, token: Token, object: StoredObject) => void): void {
    this.#stored = stored;
  }

  /** Keys with changes under way. */
  get size(): number {
    return this.#slots.size;
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

  /** Takes a step of several keys, each named once (of none: its records alone). */
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

  /** Takes the step once the slots of all places are held; those of the first ones are. */
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

  /** The key's slot; undefined: there is none, and the disk is to be asked what the key holds. */
  #known(key: PackedKey): Slot | undefined {
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    const bytes = this.#store.inMemory(key);
    const current = bytes === 'elsewhere' ? undefined : decodeStored(bytes, this.#actors);
    // What does not decode is read once more, and told as what it is.
    if (current === undefined || current instanceof LockstepError) return undefined;
    const slot = { key, current, waiting: undefined, writing: 0, tentative: 0, holds: 0 };
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
    this.#retire(slot);
  }

  /** The held slots as their keys are named; those that came from the disk came later than the others. */
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
    const slot: Slot = { key, current: undefined, waiting: [one], writing: 0, tentative: 0, holds: 0 };
    this.#slots.set(key, slot);
    const outcome = this.#store.tryRead(key, (error, bytes) => this.#loaded(key, slot, error, bytes));
    if (outcome !== 'ok') this.#slots.delete(key);
    return outcome;
  }

  #loaded(key: PackedKey, slot: Slot, error: LockstepError | undefined, bytes: Uint8Array | undefined): void {
    // What is lost here is not lost elsewhere: a new value heals the key, and the other replicas keep what they have,
    // for its name claims to know nothing of that.
    const lost = error?.code === 'Corrupted';
    if (lost) this.#estranged(key);
    const current = lost ? { object: undefined, lost } : (error ?? decodeStored(bytes, this.#actors));
    const { waiting = [] } = slot;
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
    assert(slot.current !== undefined, 'a step is taken on a loaded slot');
    let change: Change | undefined;
    try {
      change = step.next(slot.current.object, slot.current.lost);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      step.done(error);
      return;
    }
    change ??= unsettled(slot);
    if (change === undefined) step.done(undefined);
    else this.#write(key, slot, step, change);
  }

  #write(key: PackedKey, slot: Slot, step: Step, { object, bytes: known }: Change): void {
    const bytes = known ?? encodeObject(object);
    const secret = slot.tentative > 0;
    const tentative = step.tentative === true ? 1 : 0;
    slot.writing += 1;
    slot.tentative += tentative;
    const outcome = this.#store.tryWrite([{ key, token: step.token, value: bytes }], (error) => {
      slot.writing -= 1;
      slot.tentative -= tentative;
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
    slot.current = { object, lost: false };
    this.#stored(key, step.token, object);
    if (!secret) step.applied(object, bytes);
  }

  #takeBatch(places: readonly Place[], slots: readonly Slot[], step: BatchStep): void {
    let next: BatchChange | undefined;
    try {
      next = step.next(slots.map(({ current }) => present(current, 'a loaded slot')));
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
    const changes: Change[] = [];
    const bytes = new Array<Uint8Array | undefined>(places.length);
    for (let index = 0; index < places.length; index++) {
      const { key, token } = present(places[index], 'a place');
      const slot = present(slots[index], 'the slot of a place');
      const change = next.changes[index] ?? unsettled(slot);
      if (change === undefined) continue;
      const value = change.bytes ?? encodeObject(change.object);
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
    }
    const settle = (): void => {
      for (const slot of written) {
        slot.writing -= 1;
        slot.tentative -= tentative;
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
      const { object } = present(changes[index], 'its change');
      slot.current = { object, lost: false };
      this.#stored(slot.key, present(batch[index], 'its write').token, object);
    }
    step.applied(bytes);
  }

  #retire(slot: Slot): void {
    if (slot.writing === 0 && slot.holds === 0) this.#slots.delete(slot.key);
  }
}

/** The error of a driver that took nothing. */
export function refusal(outcome: 'full' | 'closed'): LockstepError {
  return outcome === 'full'
    ? new LockstepError('Overloaded', "the store's queue is full; try again later")
    : new LockstepError('StorageFailed', 'the store takes no more requests');
}

/** Nothing to change, but what is there is not durable yet: it is written again rather than answered too early. */
function unsettled(slot: Slot): Change | undefined {
  const object = slot.current?.object;
  return slot.writing > 0 && object !== undefined ? { object, bytes: undefined } : undefined;
}

function decodeStored(bytes: Uint8Array | undefined, actors: NameTable): Newest | LockstepError {
  if (bytes === undefined) return { object: undefined, lost: false };
  try {
    return { object: decodeObject(bytes, actors), lost: false };
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    return new LockstepError('Corrupted', `a stored object does not decode: ${error.message}`);
  }
}
