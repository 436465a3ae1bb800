/**
 * The log of transactions in doubt: records of the node's own store (transactions/formats/records.ts), written one batch at a time and read
 * back when the node starts. What is forced and when is the protocols' business.
 */
import { BytesError } from '../../base/bytes.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { bucketPrefix, systemKey } from '../../base/object-key.ts';
import type { LocalStore } from '../../replica/key-slots.ts';
import { refusal } from '../../replica/key-slots.ts';
import type { StoreWrite } from '../../storage/store.ts';
import type { DecisionRecord } from '../formats/records.ts';
import { decisionBucket, readDecision } from '../formats/records.ts';
import type { Xid } from '../formats/xid.ts';

/** The store as the log needs it. */
export interface RecordStore extends LocalStore {
  keysOfBucket(prefix: string): Iterable<PackedKey>;
}

/** A record that a start found. `bytes` undefined: it is there and cannot be read. */
export interface FoundRecord {
  readonly name: ByteString;
  readonly bytes: Uint8Array | undefined;
}

/** What follows a write, at once. */
export interface Followed {
  readonly handedOver?: (() => void) | undefined;
  readonly durable?: (() => void) | undefined;
}

/** A record that nobody waits for. */
interface Later {
  readonly record: StoreWrite;
  readonly then: Followed;
}

/** Records that wait for a forced one at most, and in one batch. */
const laterCountMax = 256;
/** Records that wait for a store whose queue is full. */
const keptCountMax = 16_384;

export class TransactionLog {
  readonly #store: RecordStore;
  #later: Later[] = [];

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** Resolves when the records are durable: without an error, or with the one that leaves it open whether they are. */
  force(records: readonly StoreWrite[], then: Followed = {}): Promise<LockstepError | undefined> {
    // They share this write's sync.
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
   * Writes a record with whatever is forced next, or at the next `flush`. What a crash loses of these is found out again:
   * presumed abort and repeated commits answer for it, and a branch that was carried out asks who still needs it.
   */
  later(record: StoreWrite, then: Followed = {}): void {
    this.#later.push({ record, then });
    if (this.#later.length % laterCountMax !== 0) return;
    this.flush();
    // As if a crash had come before them.
    if (this.#later.length >= keptCountMax) this.#later.splice(0, laterCountMax);
  }

  /** Hands over what `later` has gathered, in order; what the store has no room for waits for the next time. */
  flush(): void {
    while (this.#later.length > 0) {
      const some = this.#later.splice(0, laterCountMax);
      const batch = some.map(({ record }) => record);
      const outcome = this.#store.tryWrite(batch, (error) => {
        if (error === undefined) for (const { then } of some) then.durable?.();
      });
      if (outcome !== 'ok') {
        this.#later.unshift(...some);
        return;
      }
      for (const { then } of some) then.handedOver?.();
    }
  }

  /** A record that still waits must not come after a younger one of its name. */
  #supersede(records: readonly StoreWrite[]): void {
    if (this.#later.length === 0) return;
    const keys = new Set(records.map(({ key }) => key));
    this.#later = this.#later.filter(({ record }) => !keys.has(record.key));
  }

  /** The decision under the name; an error when it cannot be told whether there is one. */
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

  /** Every record of a bucket. */
  async scan(bucket: ByteString): Promise<readonly FoundRecord[]> {
    const prefix = bucketPrefix('' as ByteString, bucket);
    const found: FoundRecord[] = [];
    for (const key of [...this.#store.keysOfBucket(prefix)].sort()) {
      const bytes = await this.read(key);
      const name = key.slice(prefix.length) as ByteString;
      found.push({ name, bytes: bytes instanceof LockstepError ? undefined : bytes });
    }
    return found;
  }

  /** The bytes of a record; an error when it cannot be told what there is. */
  read(key: PackedKey): Promise<Uint8Array | undefined | LockstepError> {
    const done = new Deferred<Uint8Array | undefined | LockstepError>();
    const outcome = this.#store.tryRead(key, (error, bytes) => done.resolve(error ?? bytes));
    if (outcome !== 'ok') done.resolve(refusal(outcome));
    return done.promise;
  }
}
