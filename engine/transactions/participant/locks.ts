/**
 * Which keys of this node belong to a transaction now. Who finds a lock votes abort, and waits for none but those of a
 * decided transaction, which the disk alone holds up: so there is no deadlock. Readers of a key wait, bounded, from the
 * moment its branch has promised to follow the coordinator until it has: they never see one half of a committed batch
 * and miss the other. Where a client may hear of the commit before it is carried out here, plain writes wait as well,
 * and are made all the same when that takes too long.
 */
import { assert } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { TransientMap } from '../../base/transient-map.ts';
import type { ReadGate } from '../../replica/replica.ts';
import type { Place } from '../../replica/key-slots.ts';
import type { Clock, Timer } from '../../io/clock.ts';
import type { Xid } from '../formats/xid.ts';

interface Lock {
  readonly xid: Xid;
  readonly place: Place;
  /** It is let go as soon as the disk has answered. */
  readonly shortly: boolean;
  /** Readers wait. */
  promised: boolean;
  /** So do writers: the client may have heard the outcome before it is carried out here. */
  heardEarly: boolean;
  /** Undefined: none has come yet. */
  readers: Set<Reader> | undefined;
}

function newLock(xid: Xid, place: Place, shortly: boolean): Lock {
  return { xid, place, shortly, promised: false, heardEarly: false, readers: undefined };
}

interface Reader {
  readonly timer: Timer;
  readonly proceed: (error: LockstepError | undefined) => void;
}

export class Locks implements ReadGate {
  readonly #clock: Clock;
  readonly #readWaitUs: number;
  readonly #locks = new TransientMap<PackedKey, Lock>();
  #released: () => void = () => undefined;

  constructor(clock: Clock, readWaitUs: number) {
    this.#clock = clock;
    this.#readWaitUs = readWaitUs;
  }

  get size(): number {
    return this.#locks.size;
  }

  /** Who holds the key. */
  holder(key: PackedKey): Xid | undefined {
    return this.#locks.size === 0 ? undefined : this.#locks.get(key)?.xid;
  }

  /** Those who hold a key that `isSo`. */
  holdersOf(isSo: (place: Place) => boolean): readonly Xid[] {
    const holders = new Set<Xid>();
    for (const { xid, place } of this.#locks.values()) if (isSo(place)) holders.add(xid);
    return [...holders];
  }

  /** Calls `released` whenever a transaction has given its keys back. */
  onRelease(released: () => void): void {
    this.#released = released;
  }

  /** Takes all of the keys, which must be free. */
  take(xid: Xid, places: readonly Place[]): void {
    for (const place of places) this.#take(xid, place);
  }

  /** Takes all of the keys for writes that are handed to the disk next. False: one of them is not free, and none is taken. */
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

  /** From now on readers wait, writers where the outcome may be `heardEarly`: the branch is about to vote. */
  promise(places: readonly Place[], heardEarly: boolean): void {
    for (const { key } of places) {
      const lock = this.#locks.get(key);
      if (lock === undefined) continue;
      lock.promised = true;
      lock.heardEarly = heardEarly;
    }
  }

  /** Gives back what the transaction holds of the keys; readers go on. */
  release(xid: Xid, places: readonly Place[]): void {
    for (const { key } of places) if (this.#locks.get(key)?.xid === xid) this.#free(key);
    this.#released();
  }

  /** Gives back keys that were taken for a short while, and are held still. */
  releaseShort(places: readonly Place[]): void {
    for (const { key } of places) this.#free(key);
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

  /** Resolves when the first key whose holder `willLetGo` is free, or was waited for too long; undefined: there is none. */
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
    const timer = this.#clock.after(this.#readWaitUs, () => {
      lock.readers?.delete(reader);
      proceed(new LockstepError('Timeout', `the key waits for the outcome of the transaction ${lock.xid}`));
    });
    const reader: Reader = { timer, proceed };
    lock.readers ??= new Set();
    lock.readers.add(reader);
  }

  /** Lets every reader go with an error: the node stops. */
  close(): void {
    for (const lock of this.#locks.values()) {
      for (const reader of lock.readers ?? []) {
        reader.timer.cancel();
        reader.proceed(new LockstepError('ShuttingDown'));
      }
      lock.readers?.clear();
    }
  }
}
