/**
 * The in-doubt log of transactions: records in the node's own store (transactions/formats/records.ts), written one
 * batch at a time and read when the node starts. The protocols decide what is forced and when.
 */
import { BytesError } from '../../base/bytes.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { sometimes } from '../../base/sometimes.ts';
import { bucketPrefix, systemKey } from '../../base/object-key.ts';
import type { LocalStore } from '../../replica/key-slots.ts';
import { refusal } from '../../replica/key-slots.ts';
import type { StoreWrite } from '../../storage/store.ts';
import type { DecisionRecord } from '../formats/records.ts';
import { decisionBucket, readDecision } from '../formats/records.ts';
import type { Xid } from '../formats/xid.ts';

/** The store as the log uses it. */
export interface RecordStore extends LocalStore {
  /** The stored keys with the prefix, in no particular sequence. */
  keysOfBucket(prefix: string): Iterable<PackedKey>;
  /** Whether records may be lost whose keys are unknown. */
  isSuspicious(): boolean;
}

/** A record that a start found. `bytes` undefined: it exists, and is damaged. */
export interface FoundRecord {
  readonly name: ByteString;
  readonly bytes: Uint8Array | undefined;
}

/** Callbacks of one write: when the store has taken it, and when it is durable. */
export interface Followed {
  readonly handedOver?: (() => void) | undefined;
  readonly durable?: (() => void) | undefined;
}

/** A record that no caller waits for. */
interface Later {
  readonly record: StoreWrite;
  readonly then: Followed;
}

/** How often a start tries to read a record from a disk that fails. */
const readAttempts = 4;
/** The most unforced records in one batch. Reaching it also starts a flush. */
const laterCountMax = 256;
/** The most unforced records that wait for a store whose queue is full. */
const keptCountMax = 16_384;

/** Writes and reads the transaction records of one node. */
export class TransactionLog {
  readonly #store: RecordStore;
  #later: Later[] = [];
  /** Of each key, the newest record of `later` that the store has taken and not answered; none if a forced one followed. */
  readonly #unanswered = new Map<PackedKey, Later>();

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /**
   * Writes records and resolves when they are durable: with undefined, or with the error. Unless the error is definite,
   * the records may be durable all the same.
   */
  force(records: readonly StoreWrite[], then: Followed = {}): Promise<LockstepError | undefined> {
    // The unforced records share this write's sync.
    this.flush();
    const done = new Deferred<LockstepError | undefined>();
    const outcome = this.#store.tryWrite(records, (error) => {
      if (error === undefined) then.durable?.();
      done.resolve(error);
    });
    if (outcome === 'ok') this.#supersede(records);
    if (outcome === 'ok') then.handedOver?.();
    else done.resolve(refusal(outcome));
    return done.promise;
  }

  /**
   * Writes a record with whatever is forced next, or at the next `flush`. A crash may lose it, and the protocol
   * recovers: by presumed abort, by repeated commits, and by applied branches that ask who still needs them.
   */
  later(record: StoreWrite, then: Followed = {}): void {
    this.#later.push({ record, then });
    if (this.#later.length % laterCountMax !== 0) return;
    this.flush();
    // The oldest are dropped, as if a crash had come before them.
    if (this.#later.length >= keptCountMax) this.#later.splice(0, laterCountMax);
  }

  /**
   * Hands the records of `later` to the store, in sequence. What the store has no space for waits for the next flush.
   */
  flush(): void {
    while (this.#later.length > 0) {
      const some = this.#later.splice(0, laterCountMax);
      const batch = some.map(({ record }) => record);
      const answer = { isHeard: false };
      const outcome = this.#store.tryWrite(batch, (error) => {
        answer.isHeard = true;
        this.#answered(some, error);
      });
      if (outcome !== 'ok') {
        this.#later.unshift(...some);
        return;
      }
      if (!answer.isHeard) for (const one of some) this.#unanswered.set(one.record.key, one);
      for (const { then } of some) then.handedOver?.();
    }
  }

  /**
   * The store has answered a batch of `flush`. After an error its records wait again, before all others: this node has
   * gone on as if they were written, and may have locked the keys of a dropped branch for another one.
   */
  #answered(some: readonly Later[], error: LockstepError | undefined): void {
    const again: Later[] = [];
    for (const one of some) {
      const { key } = one.record;
      if (error === undefined) one.then.durable?.();
      if (this.#unanswered.get(key) !== one) continue;
      this.#unanswered.delete(key);
      if (error !== undefined) again.push({ record: one.record, then: { durable: one.then.durable } });
    }
    if (again.length === 0) return;
    this.#later.unshift(...again);
    if (this.#later.length > keptCountMax) this.#later.splice(0, this.#later.length - keptCountMax);
  }

  /** Drops waiting records that a forced one replaces, so that they do not overwrite it later. */
  #supersede(records: readonly StoreWrite[]): void {
    if (this.#unanswered.size > 0) for (const { key } of records) this.#unanswered.delete(key);
    if (this.#later.length === 0) return;
    const keys = new Set(records.map(({ key }) => key));
    this.#later = this.#later.filter(({ record }) => !keys.has(record.key));
  }

  /** Whether the disk may have lost records of transactions that nobody can name. */
  get isSuspicious(): boolean {
    return this.#store.isSuspicious();
  }

  /** The decision about the transaction; undefined without one. An error if the record cannot be read. */
  async decisionOf(xid: Xid): Promise<DecisionRecord | undefined | LockstepError> {
    const bytes = await this.read(systemKey(decisionBucket, xid));
    if (bytes === undefined || bytes instanceof LockstepError) return bytes;
    try {
      return readDecision(bytes);
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      return new LockstepError('Corrupted', `the decision of ${xid} does not decode: ${error.message}`);
    }
  }

  /**
   * Every record of a bucket, sorted by key. Rejects if the disk fails to give one: such a record may be whole, and its
   * locks must not be missed.
   */
  async scan(bucket: ByteString): Promise<readonly FoundRecord[]> {
    const prefix = bucketPrefix('' as ByteString, bucket);
    const found: FoundRecord[] = [];
    for (const key of [...this.#store.keysOfBucket(prefix)].sort()) {
      const name = key.slice(prefix.length) as ByteString;
      found.push({ name, bytes: await this.#readFound(key) });
    }
    return found;
  }

  /** The bytes of a stored record; undefined if it is damaged. */
  async #readFound(key: PackedKey): Promise<Uint8Array | undefined> {
    for (let attempt = 1; ; attempt++) {
      const bytes = await this.read(key);
      if (!(bytes instanceof LockstepError)) return bytes;
      if (bytes.code === 'Corrupted') return undefined;
      sometimes('recovery.record-unread');
      if (attempt === readAttempts) throw bytes;
    }
  }

  /** The bytes of a record; undefined without one. An error if it cannot be read. */
  read(key: PackedKey): Promise<Uint8Array | undefined | LockstepError> {
    const done = new Deferred<Uint8Array | undefined | LockstepError>();
    const outcome = this.#store.tryRead(key, (error, bytes) => done.resolve(error ?? bytes));
    if (outcome !== 'ok') done.resolve(refusal(outcome));
    return done.promise;
  }
}
