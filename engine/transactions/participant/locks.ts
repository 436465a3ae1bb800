/**
 * The locks of this node's keys, each held by one transaction.
 *
 * A branch that finds a lock votes abort. It waits only for the lock of a decided transaction, which the disk alone
 * holds up, so there is no deadlock.
 *
 * Readers of a key wait, for a bounded time, from the vote of its branch until the branch has followed the
 * coordinator. So no reader sees one half of a committed batch and misses the other. Plain writes wait as well where
 * a client may hear of the commit before this node applies it; a write that has waited for too long is made all the
 * same.
 */
import { assert, failAssertion } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { TransientMap } from '../../base/transient-map.ts';
import type { ReadGate } from '../../replica/replica.ts';
import type { Place } from '../../replica/key-slots.ts';
import type { Clock, Timer } from '../../io/clock.ts';
import type { Xid } from '../formats/xid.ts';

interface Lock {
  xid: Xid;
  /** Further prepared branches of the key that a start has found; undefined: none. */
  others: Xid[] | undefined;
  readonly place: Place;
  /** Released as soon as the disk has answered. */
  readonly shortly: boolean;
  /** The branch has voted or is about to: readers wait. */
  promised: boolean;
  /** Writers wait, too: the client may hear the outcome before this node applies it. */
  heardEarly: boolean;
  /** Readers and writers that wait; undefined: none has come yet. */
  readers: Set<Reader> | undefined;
}

function newLock(xid: Xid, place: Place, shortly: boolean): Lock {
  return { xid, others: undefined, place, shortly, promised: false, heardEarly: false, readers: undefined };
}

interface Reader {
  readonly timer: Timer;
  readonly proceed: (error: LockstepError | undefined) => void;
}

/** The locks of one node, and the gate of its replica's readers. */
export class Locks implements ReadGate {
  readonly #clock: Clock;
  readonly #readWaitUs: number;
  readonly #locks = new TransientMap<PackedKey, Lock>();
  #released: () => void = () => undefined;
  #closed = false;

  /** `readWaitUs`: how long a reader waits for a key, in microseconds. */
  constructor(clock: Clock, readWaitUs: number) {
    this.#clock = clock;
    this.#readWaitUs = readWaitUs;
  }

  /** Keys that are locked. */
  get size(): number {
    return this.#locks.size;
  }

  /** The transaction that holds the key's lock, if any. */
  holder(key: PackedKey): Xid | undefined {
    return this.#locks.size === 0 ? undefined : this.#locks.get(key)?.xid;
  }

  /** Whether the transaction holds the key's lock, alone or with others. */
  isHeldBy(key: PackedKey, xid: Xid): boolean {
    const lock = this.#locks.get(key);
    return lock !== undefined && (lock.xid === xid || lock.others?.includes(xid) === true);
  }

  /** The transactions that hold the lock of a key for which `isSo` is true. */
  holdersOf(isSo: (place: Place) => boolean): readonly Xid[] {
    const holders = new Set<Xid>();
    for (const { xid, others = [], place } of this.#locks.values())
      if (isSo(place)) for (const holder of [xid, ...others]) holders.add(holder);
    return [...holders];
  }

  /** Calls `released` whenever a transaction has released locks. */
  onRelease(released: () => void): void {
    this.#released = released;
  }

  /** Locks all of the keys, which must be free. */
  take(xid: Xid, places: readonly Place[]): void {
    for (const place of places) this.#take(xid, place);
  }

  /**
   * Locks the keys of a prepared branch that a start has found. A key that is locked already gets one more holder: of two
   * prepared records of a key one is over, and the disk has lost its end. Which one, their coordinators know; until then
   * no other transaction may have the key.
   */
  retake(xid: Xid, places: readonly Place[]): void {
    for (const place of places) {
      const lock = this.#locks.get(place.key);
      if (lock === undefined) this.#take(xid, place);
      else (lock.others ??= []).push(xid);
    }
  }

  /**
   * Locks all of the keys for writes that go to the disk next. False, and nothing is locked, if one of them is
   * locked.
   */
  takeShortly(xid: Xid, places: readonly Place[]): boolean {
    let taken = 0;
    for (const place of places) {
      if (!this.#locks.add(place.key, newLock(xid, place, true))) break;
      taken += 1;
    }
    if (taken === places.length) return true;
    for (const { key } of places.slice(0, taken)) this.#locks.delete(key);
    return false;
  }

  #take(xid: Xid, place: Place): void {
    const wasFree = this.#locks.add(place.key, newLock(xid, place, false));
    assert(wasFree, 'a lock has one holder');
  }

  /**
   * The branch is about to vote: from now on readers wait, and writers if a client may hear the outcome first
   * (`heardEarly`).
   */
  promise(places: readonly Place[], heardEarly: boolean): void {
    for (const { key } of places) {
      const lock = this.#locks.get(key);
      if (lock === undefined) continue;
      lock.promised = true;
      lock.heardEarly = heardEarly;
    }
  }

  /** Releases those of the keys that the transaction has locked; their readers go on. */
  release(xid: Xid, places: readonly Place[]): void {
    for (const { key } of places) this.#release(xid, key);
    this.#released();
  }

  #release(xid: Xid, key: PackedKey): void {
    const lock = this.#locks.get(key);
    if (lock === undefined) return;
    const holders = [lock.xid, ...(lock.others ?? [])].filter((holder) => holder !== xid);
    const [next, ...others] = holders;
    if (next === undefined) {
      this.#free(key);
      return;
    }
    lock.xid = next;
    lock.others = others.length === 0 ? undefined : others;
  }

  /** Releases keys that `takeShortly` has locked. */
  releaseShort(places: readonly Place[]): void {
    for (const { key } of places) {
      if (this.#locks.get(key)?.shortly !== true) failAssertion('a short lock is held until it is released');
      this.#free(key);
    }
    this.#released();
  }

  #free(key: PackedKey): void {
    const lock = this.#locks.delete(key);
    if (lock?.readers === undefined) return;
    for (const reader of lock.readers) {
      reader.timer.cancel();
      reader.proceed(undefined);
    }
  }

  /**
   * Resolves when the first key is free that was locked shortly or whose holder `willLetGo`, or when the wait is over.
   * Undefined if there is no such key.
   */
  freed(places: readonly Place[], willLetGo: (holder: Xid) => boolean): Promise<void> | undefined {
    if (this.#locks.size === 0) return undefined;
    for (const { key } of places) {
      const lock = this.#locks.get(key);
      if (lock === undefined || !(lock.shortly || willLetGo(lock.xid))) continue;
      const over = new Deferred<void>();
      this.wait(key, () => over.resolve());
      return over.promise;
    }
    return undefined;
  }

  closed(key: PackedKey): boolean {
    return this.#locks.size > 0 && this.#locks.get(key)?.promised === true;
  }

  ordersWrites(key: PackedKey): boolean {
    return this.#locks.size > 0 && this.#locks.get(key)?.heardEarly === true;
  }

  wait(key: PackedKey, proceed: (error: LockstepError | undefined) => void): void {
    const lock = this.#locks.get(key);
    if (lock === undefined) {
      proceed(undefined);
      return;
    }
    if (this.#closed) {
      proceed(new LockstepError('ShuttingDown'));
      return;
    }
    const timer = this.#clock.after(this.#readWaitUs, () => {
      lock.readers?.delete(reader);
      proceed(new LockstepError('Timeout', `the key waits for the outcome of the transaction ${lock.xid}`));
    });
    const reader: Reader = { timer, proceed };
    lock.readers ??= new Set();
    lock.readers.add(reader);
  }

  /** The node stops: every reader goes on with `ShuttingDown`, and every later one at once. */
  close(): void {
    this.#closed = true;
    for (const lock of this.#locks.values()) {
      for (const reader of lock.readers ?? []) {
        reader.timer.cancel();
        reader.proceed(new LockstepError('ShuttingDown'));
      }
      lock.readers?.clear();
    }
  }
}
