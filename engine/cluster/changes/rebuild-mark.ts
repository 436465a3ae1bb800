/**
 * The durable mark that a rebuild is not over: a record in the node's own store, beside its objects. It is the first
 * write to a new store, and the store's log keeps that order. A store that has objects and no mark is older than these
 * marks, or belongs to a member that came by joining.
 *
 *     `transfer/refill`  u8 version | u8 1: over, 0: not yet
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
/** The mark belongs to the node, not to the ring. */
const token = 0 as Token;

/** Reads and writes the mark of one store. */
export class RebuildMark {
  readonly #store: LocalStore;
  readonly #isEmpty: () => boolean;

  /** `isEmpty`: the store holds no object. */
  constructor(store: LocalStore, isEmpty: () => boolean) {
    this.#store = store;
    this.#isEmpty = isEmpty;
  }

  /**
   * True if a rebuild is needed or not over. Call it before anything is written to the store. `isMember`: the node owns
   * ranges that an earlier disk may have held; a joining node gets its ranges before it owns them. Rejects with
   * `StorageFailed` if the mark cannot be read.
   */
  async isPending(isMember: boolean): Promise<boolean> {
    const bytes = await this.#written();
    // A mark that does not decode is treated as none.
    if (bytes?.[0] === version) return bytes[1] !== 1;
    if (bytes === undefined && (!isMember || !this.#isEmpty())) return false;
    // No caller waits for this: whatever is written later becomes durable later.
    this.#write(0, () => undefined);
    return true;
  }

  /**
   * Marks the rebuild as over. Resolves when that is durable, or when the store fails; then the next start rebuilds
   * again.
   */
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
      // A corrupted mark counts as pending.
      if (error === undefined) done.resolve(bytes);
      else if (error.code === 'Corrupted') done.resolve(new Uint8Array());
      else done.reject(error);
    });
    if (outcome !== 'ok') done.reject(new LockstepError('StorageFailed', refusal(outcome).message));
    return done.promise;
  }
}
