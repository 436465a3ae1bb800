/**
 * Whether what this node's disk may have lost has come back: a record of the node's own store beside its objects. It is
 * made before anything else is written to a new store, whose log keeps that order. A store that has objects and no such
 * record is older than these records, or of a member that came by joining.
 *
 *     transfer/refill    u8 version | u8 1: over, 0: not yet
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { systemKey } from '../../base/object-key.ts';
import type { LocalStore } from '../../replica/key-slots.ts';
import { refusal } from '../../replica/key-slots.ts';

const version = 1;
const key = systemKey(byteStringOf('transfer'), byteStringOf('refill'));
/** It belongs to the node, not to the ring. */
const token = 0 as Token;

export class RebuildMark {
  readonly #store: LocalStore;
  readonly #isEmpty: () => boolean;

  /** `isEmpty`: no object is in the store. */
  constructor(store: LocalStore, isEmpty: () => boolean) {
    this.#store = store;
    this.#isEmpty = isEmpty;
  }

  /**
   * Before anything is written. `isMember`: it owns what a disk before this one may have held; one that joins gets all that
   * it will own before it does. Rejects with `StorageFailed` when the record cannot be read.
   */
  async isPending(isMember: boolean): Promise<boolean> {
    const bytes = await this.#written();
    // Of a record that does not decode as little is presumed as of none at all.
    if (bytes?.[0] === version) return bytes[1] !== 1;
    if (bytes === undefined && (!isMember || !this.#isEmpty())) return false;
    // Nobody waits for it: what is written later is durable later.
    this.#write(0, () => undefined);
    return true;
  }

  /** It is over. Resolves when that is durable, or it cannot be: then it is done again after the next start. */
  lift(): Promise<void> {
    const done = new Deferred<void>();
    this.#write(1, () => done.resolve());
    return done.promise;
  }

  #write(over: 0 | 1, done: () => void): void {
    const value = Buffer.from([version, over]);
    const outcome = this.#store.tryWrite([{ key, token, value }], done);
    if (outcome !== 'ok') done();
  }

  #written(): Promise<Uint8Array | undefined> {
    const done = new Deferred<Uint8Array | undefined>();
    const outcome = this.#store.tryRead(key, (error, bytes) => {
      // What was lost of it counts as pending.
      if (error === undefined) done.resolve(bytes);
      else if (error.code === 'Corrupted') done.resolve(new Uint8Array());
      else done.reject(error);
    });
    if (outcome !== 'ok') done.reject(new LockstepError('StorageFailed', refusal(outcome).message));
    return done.promise;
  }
}
