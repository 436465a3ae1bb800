/**
 * Stores the records of bucket properties in the node's own store. A setting is one record of the log and shares its
 * sync with other writes.
 *
 *     props/<record name>    a record (buckets/property-codec.ts)
 *     node/properties        u8 version: this node has learnt all properties that were set
 *
 * A store without the second record is new or was lost: its node asks its peers before it serves clients.
 */
import { ByteWriter } from '../base/bytes.ts';
import { tryDecodeWhole } from '../base/decoding.ts';
import { Deferred } from '../base/deferred.ts';
import { asLockstepError, LockstepError } from '../base/errors.ts';
import type { ByteString, Token } from '../base/ids.ts';
import { byteStringOf, textOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { bucketPrefix, systemKey } from '../base/object-key.ts';
import type { LocalStore } from '../replica/key-slots.ts';
import { refusal } from '../replica/key-slots.ts';
import type { Io } from '../io/io.ts';
import type { NamedRecord } from '../buckets/property-codec.ts';
import { readRecord, splitRecordName, writeRecord } from '../buckets/property-codec.ts';
import type { PropertyCondition, PropertyShelf } from '../buckets/property-keeper.ts';
import { PropertyTable } from '../buckets/property-table.ts';
import type { Store, StoreWrite } from '../storage/store.ts';

const bucket = byteStringOf('props');
const prefix = bucketPrefix('' as ByteString, bucket);
const heardKey = systemKey(byteStringOf('node'), byteStringOf('properties'));
const heardValue = Buffer.from([1]);
/** The records belong to the node, not to a range of the ring. */
const token = 0 as Token;
/** The approximate bytes of records in one batch. */
const batchBytes = 256 * 1024;

/** The property records of one node: read at a start, written by the property keeper. */
export class StoredProperties implements PropertyShelf {
  readonly condition: PropertyCondition;
  /** The records that the last incarnation stored; empty in the first. */
  readonly remembered: PropertyTable;
  #store: Pick<LocalStore, 'tryWrite'> | undefined;

  private constructor(condition: PropertyCondition, remembered: PropertyTable) {
    this.condition = condition;
    this.remembered = remembered;
  }

  /** Reads all records. Rejects with `StorageFailed` if the disk cannot be read. */
  static async open(
    { log }: Pick<Io, 'log'>,
    store: Pick<Store, 'get' | 'getDoubted' | 'keysOfBucket' | 'damages'>,
  ): Promise<StoredProperties> {
    const { records, lost } = await readAll(store);
    const heard = await valueOf(store, heardKey);
    if (lost.length > 0) log.event('error', 'props.records.lost', { buckets: lost.join(' ') });
    const isLost = lost.length > 0;
    const isWhole = heard !== undefined;
    // A damaged segment may have hidden records without a trace, so the node asks its peers.
    const condition = isLost ? 'lost' : isWhole && store.damages.length === 0 ? 'whole' : 'new';
    return new StoredProperties(condition, new PropertyTable(records));
  }

  /** Writes records to `store` from now on. */
  writeTo(store: Pick<LocalStore, 'tryWrite'>): void {
    this.#store = store;
  }

  /** Resolves once the records are durable. Rejects with `ShuttingDown` before `writeTo`, or with the store's error. */
  async save(records: readonly NamedRecord[]): Promise<void> {
    let batch: StoreWrite[] = [];
    let bytes = 0;
    for (const one of records) {
      const words = new ByteWriter(256);
      writeRecord(words, one);
      const value = words.finish();
      batch.push({ key: keyOf(one.name), token, value });
      bytes += value.length;
      if (bytes < batchBytes) continue;
      await this.#write(batch);
      batch = [];
      bytes = 0;
    }
    if (batch.length > 0) await this.#write(batch);
  }

  /** Records durably that this node has learnt all properties. */
  complete(): Promise<void> {
    return this.#write([{ key: heardKey, token, value: heardValue }]);
  }

  #write(batch: readonly StoreWrite[]): Promise<void> {
    const done = new Deferred<void>();
    const outcome = this.#store?.tryWrite(batch, (error) => {
      if (error === undefined) done.resolve();
      else done.reject(error);
    });
    if (outcome === undefined) done.reject(new LockstepError('ShuttingDown'));
    else if (outcome !== 'ok') done.reject(refusal(outcome));
    return done.promise;
  }
}

/**
 * Drops the records that cannot be read, for an operator whose node has no peer with a copy. These buckets have the
 * properties of their type again. Resolves with their names. Rejects with `StorageFailed`.
 */
export async function forgetLostProperties(
  store: Pick<Store, 'getDoubted' | 'keysOfBucket' | 'write'>,
): Promise<readonly string[]> {
  const { lost, lostKeys } = await readAll(store);
  const done = new Deferred<void>();
  const removals = lostKeys.map((key) => ({ key, token, value: undefined }));
  store.write([...removals, { key: heardKey, token, value: heardValue }], (error) => {
    if (error === undefined) done.resolve();
    else done.reject(error);
  });
  await done.promise;
  return lost;
}

function keyOf(name: string): PackedKey {
  return systemKey(bucket, name as ByteString);
}

/**
 * The records that can be read, and the names of the buckets whose records cannot. Where the log has lost records of
 * unknown keys, each older record may have had a newer value. It is taken nevertheless: merging it with that of a peer
 * is safe, and a node without peers has nothing newer.
 */
async function readAll(store: Pick<Store, 'getDoubted' | 'keysOfBucket'>): Promise<{
  readonly records: readonly NamedRecord[];
  readonly lost: readonly string[];
  readonly lostKeys: readonly PackedKey[];
}> {
  const records: NamedRecord[] = [];
  const lost: string[] = [];
  const lostKeys: PackedKey[] = [];
  for (const key of [...store.keysOfBucket(prefix)].sort()) {
    const name = key.slice(prefix.length);
    const bytes = await store.getDoubted(key);
    const record = bytes === undefined ? undefined : tryDecodeWhole(bytes, readRecord);
    if (record?.name === name) {
      records.push(record);
      continue;
    }
    lost.push(nameForPeople(name));
    lostKeys.push(key);
  }
  return { records, lost, lostKeys };
}

/** The value under `key`; undefined if there is none or it is damaged. */
async function valueOf(store: Pick<Store, 'get'>, key: PackedKey): Promise<Uint8Array | undefined> {
  try {
    return await store.get(key);
  } catch (error) {
    const failure = asLockstepError(error);
    if (failure.code !== 'Corrupted') throw failure;
    return undefined;
  }
}

/** `default/cats`, or `default` for a type's own record. */
function nameForPeople(name: string): string {
  const parts = splitRecordName(name);
  if (parts === undefined) return '(no name)';
  const { type, bucket: own } = parts;
  return own === '' ? textOf(type) : `${textOf(type)}/${textOf(own)}`;
}
