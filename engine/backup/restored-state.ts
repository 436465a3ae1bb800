/**
 * What a backup holds, as one cluster-wide state: the objects of all nodes merged by causality, after every transaction
 * of the cut is decided as the nodes themselves would decide it after a crash at that moment.
 *
 * - A branch that is prepared is applied if a decision of its coordinator, or an applied branch of the same transaction,
 *   is in the cut.
 * - Otherwise it is not applied if the coordinator's log is in the cut, and covers the incarnation that began the
 *   transaction: no record means abort.
 * - Otherwise its outcome is unknown. It is not applied, and is reported.
 * - A branch whose record cannot be read is in doubt, too.
 *
 * Every node's store is opened as its own start would open it, from a copy. So what a crash could have left of it, and
 * what has rotted since, is treated in the same way. Memory holds the keys of all nodes (about 78 bytes each beyond the
 * key), and no values.
 */
import { createHash } from 'node:crypto';

import { ByteReader, BytesError } from '../base/bytes.ts';
import { tryDecode } from '../base/decoding.ts';
import { LockstepError } from '../base/errors.ts';
import { byteStringOf, textOf } from '../base/ids.ts';
import type { ByteString } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { bucketPrefix, isSystemKey, unpackKey, withoutEpoch } from '../base/object-key.ts';
import { typeMark } from '../buckets/buckets.ts';
import { Epochs } from '../buckets/epochs.ts';
import { readRecord, splitRecordName } from '../buckets/property-codec.ts';
import { PropertyTable } from '../buckets/property-table.ts';
import { valuesOf } from '../buckets/registers.ts';
import { replaceFile, writeFully } from '../io/disk.ts';
import type { Actor } from '../replica/object/dots.ts';
import { highestCounter, mergeVectors, nextCounter } from '../replica/object/dots.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { applyWrite, decodeObject, encodeObject, mergeObjects } from '../replica/object/object.ts';
import { manifestName, segmentName } from '../storage/log/file-names.ts';
import { encodeManifest } from '../storage/log/manifest.ts';
import { storeDefaults } from '../storage/options.ts';
import type { StoreIo } from '../storage/store-io.ts';
import { Store } from '../storage/store.ts';
import type { BranchOperation } from '../transactions/formats/messages.ts';
import {
  branchBucket,
  decisionBucket,
  incarnationsKey,
  readBranch,
  readDecision,
  readIncarnations,
} from '../transactions/formats/records.ts';
import { coordinatorOf, lifeOf, parseXid } from '../transactions/formats/xid.ts';
import type { BackupManifest, NodeBackup } from './manifest.ts';
import type { BackupRepository } from './repository.ts';
import { chunksOf } from './repository.ts';
import type { RestoredObject } from './restore-batch.ts';
import type { BackupBucket } from './selection.ts';

/** What became of the transactions that the cut found on their way. */
export interface DecidedTransactions {
  /** Prepared somewhere, and committed: their writes are part of the state. */
  readonly committed: readonly string[];
  readonly aborted: readonly string[];
  /** Unknown: their coordinator's log is not in the cut. Their prepared writes are not part of the state. */
  readonly inDoubt: readonly string[];
}

/** What was set of a bucket; of the type itself if `bucket` is empty. The names are those of Riak's JSON. */
export interface BucketSetting {
  readonly type: string;
  readonly bucket: string;
  /** The bucket's bytes, of which `bucket` is only a likeness if they are no UTF-8. */
  readonly name: ByteString;
  readonly props: Readonly<Record<string, boolean | number | string>>;
}

interface OpenedStore {
  readonly node: NodeBackup;
  readonly store: Store;
}

/** The state of one backup. The caller must `close` it. */
export class RestoredState {
  readonly decided: DecidedTransactions;
  /** The properties that were set of buckets and types. */
  readonly properties: readonly BucketSetting[];
  /**
   * Copies that could not be read although another node had the key; and keys that no node could read, or that every
   * node has lost a newer value of, perhaps.
   */
  readonly unreadable = { copies: 0, keys: 0 };
  readonly #stores: readonly OpenedStore[];
  readonly #pending: ReadonlyMap<PackedKey, readonly PendingWrite[]>;
  readonly #epochs: Epochs;

  private constructor(
    stores: readonly OpenedStore[],
    pending: ReadonlyMap<PackedKey, readonly PendingWrite[]>,
    decided: DecidedTransactions,
    properties: readonly BucketSetting[],
    epochs: Epochs,
  ) {
    this.#epochs = epochs;
    this.#stores = stores;
    this.#pending = pending;
    this.decided = decided;
    this.properties = properties;
  }

  /** Copies every node's segments to `stage` below the disk of `io`, and opens them. Rejects as `Store.open` does. */
  static async open(
    io: StoreIo,
    repository: BackupRepository,
    manifest: BackupManifest,
    stage: string,
  ): Promise<RestoredState> {
    const stores: OpenedStore[] = [];
    try {
      for (const node of manifest.nodes) {
        const directory = `${stage}/${node.node}`;
        await copyStore(io, repository, node, directory);
        const merge = { ...storeDefaults.merge, enabled: false };
        const options = { ...storeDefaults, cacheBytes: 0, nodeName: node.node, merge };
        stores.push({ node, store: await Store.open(io, directory, options) });
      }
      const logs = await Promise.all(stores.map(({ node, store }) => readLog(node.node, store)));
      const { pending, decided } = decide(logs);
      const { table, unreadable } = await readProperties(stores);
      const epochs = new Epochs();
      epochs.note(table.after(''));
      const state = new RestoredState(stores, pending, decided, settingsIn(table), epochs);
      state.unreadable.keys += unreadable;
      return state;
    } catch (error) {
      for (const { store } of stores) await store.close();
      throw error;
    }
  }

  /**
   * Every object of the state, tombstones included, in no order. The keys are those that clients name: what was flushed
   * is left out, and the epochs are those of the cluster that was backed up.
   */
  async *objects(isWanted: (key: PackedKey) => boolean): AsyncGenerator<RestoredObject, void, undefined> {
    for (const [index, { store }] of this.#stores.entries()) {
      const earlier = this.#stores.slice(0, index);
      for (const key of store.keys()) {
        if (isSystemKey(key) || !this.#isWanted(key, isWanted)) continue;
        if (earlier.some((one) => one.store.tokenOf(key) !== undefined)) continue;
        const object = await this.#read(key);
        if (object !== undefined) yield { key: withoutEpoch(key), bytes: encodeObject(object) };
      }
    }
    for (const key of this.#pending.keys()) {
      if (
        !this.#isWanted(key, isWanted) ||
        this.#stores.some(({ store }) => store.tokenOf(key) !== undefined)
      )
        continue;
      const object = await this.#read(key);
      if (object !== undefined) yield { key: withoutEpoch(key), bytes: encodeObject(object) };
    }
  }

  #isWanted(key: PackedKey, isWanted: (key: PackedKey) => boolean): boolean {
    return !this.#epochs.isFormer(key) && isWanted(withoutEpoch(key));
  }

  /** The buckets that hold an object, a tombstone included, or have properties of their own; sorted by type and name. */
  buckets(): readonly BackupBucket[] {
    const found = new Map<string, BackupBucket>();
    const add = (type: string, bucket: string): void =>
      void found.set(JSON.stringify([type, bucket]), { type, bucket });
    const keys = [...this.#stores.map(({ store }) => store.keys()), this.#pending.keys()];
    for (const some of keys) {
      let last = '\u0000';
      for (const key of some) {
        if (isSystemKey(key) || key.startsWith(last) || this.#epochs.isFormer(key)) continue;
        const name = unpackKey(key);
        if (name === undefined) continue;
        last = key.slice(0, key.length - name.key.length);
        add(textOf(name.type), textOf(name.bucket));
      }
    }
    for (const { type, bucket } of this.properties) if (bucket !== '') add(type, bucket);
    return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, place]) => place);
  }

  async close(): Promise<void> {
    for (const { store } of this.#stores) await store.close();
  }

  /** All copies merged, and what committed transactions had still to write. */
  async #read(key: PackedKey): Promise<StoredObject | undefined> {
    let object: StoredObject | undefined;
    let failed = 0;
    for (const { store } of this.#stores) {
      const copy = await copyOf(store, key);
      if (copy === 'unreadable') failed += 1;
      else if (copy !== undefined) object = object === undefined ? copy : mergeObjects(object, copy);
    }
    if (object !== undefined) this.unreadable.copies += failed;
    else if (failed > 0) {
      this.unreadable.keys += 1;
      object = await this.#readDoubted(key);
    }
    for (const write of this.#pending.get(key) ?? []) object = applyPending(object, write);
    return object;
  }

  /** What can still be read of a key of which every node has lost a newer value, or may have. */
  async #readDoubted(key: PackedKey): Promise<StoredObject | undefined> {
    let object: StoredObject | undefined;
    for (const { store } of this.#stores) {
      const bytes = await store.getDoubted(key);
      const copy = bytes === undefined ? undefined : tryDecode(() => decodeObject(bytes));
      if (copy !== undefined) object = object === undefined ? copy : mergeObjects(object, copy);
    }
    return object;
  }
}

/** A write of a committed transaction that its branch had not applied yet. */
interface PendingWrite {
  readonly xid: string;
  readonly operation: BranchOperation;
  /** When the branch was prepared, in milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** A dot of its own, beyond all that is known: the same in every restore of the same backup. */
function applyPending(
  object: StoredObject | undefined,
  { xid, operation, sinceMs }: PendingWrite,
): StoredObject {
  const seen = operation.context ?? [];
  const known = mergeVectors(object?.context ?? [], seen);
  const actor = byteStringOf(
    `restore.${createHash('sha256').update(xid).digest('hex').slice(0, 12)}`,
  ) as Actor;
  const counter = nextCounter(highestCounter(known), sinceMs);
  return applyWrite(object, seen, operation.content, { actor, counter }, sinceMs);
}

async function copyOf(store: Store, key: PackedKey): Promise<StoredObject | undefined | 'unreadable'> {
  try {
    const bytes = await store.get(key);
    return bytes === undefined ? undefined : decodeObject(bytes);
  } catch (error) {
    if (error instanceof BytesError || (error instanceof LockstepError && error.code === 'Corrupted'))
      return 'unreadable';
    throw error;
  }
}

/** Writes a node's store as it was at the cut: its segments, and the manifest that names them. */
async function copyStore(
  { disk }: StoreIo,
  repository: BackupRepository,
  node: NodeBackup,
  directory: string,
): Promise<void> {
  await disk.makeDirectory(directory);
  for (const { number, bytes, sha256 } of node.segments) {
    const file = await disk.open(`${directory}/${segmentName(number)}`, 'readWrite');
    try {
      await file.truncate(0);
      let at = 0;
      for await (const chunk of chunksOf(await repository.open(sha256), bytes))
        at += await writeFully(file, [chunk], at);
      await file.sync();
    } finally {
      await file.close();
    }
  }
  const segments = node.segments.map((one) => ({
    number: one.number,
    kind: one.kind,
    sealed: true,
    length: one.bytes,
    seqMin: one.seq_min,
    seqMax: one.seq_max,
  }));
  const nextNumber = 1 + Math.max(0, ...segments.map(({ number }) => number));
  const storeId = Buffer.from(node.store_id, 'hex');
  const manifest = { storeId, nodeName: node.node, createdMs: node.created_ms, nextNumber, segments };
  await replaceFile(disk, `${directory}/${manifestName}`, encodeManifest(manifest));
}

/** The transaction log of one node. */
interface NodeLog {
  readonly node: string;
  /** Ids of the incarnations whose records are complete here. */
  readonly lives: ReadonlySet<string>;
  readonly decisions: ReadonlySet<string>;
  readonly applied: ReadonlySet<string>;
  /** Branches whose records cannot be read: what they were to write is unknown. */
  readonly unreadable: ReadonlySet<string>;
  readonly prepared: readonly {
    readonly xid: string;
    readonly sinceMs: number;
    readonly operations: readonly BranchOperation[];
  }[];
}

/** As a start of the node does, it presumes nothing of a record that cannot be read. */
async function readLog(node: string, store: Store): Promise<NodeLog> {
  const decisions = new Set<string>();
  const applied = new Set<string>();
  const unreadable = new Set<string>();
  const prepared: NodeLog['prepared'][number][] = [];
  for await (const { name, bytes } of recordsIn(store, decisionBucket)) {
    if (bytes !== 'unreadable') readDecision(bytes);
    // Only commits have records of their decisions.
    decisions.add(name);
  }
  for await (const { name, bytes } of recordsIn(store, branchBucket)) {
    if (bytes === 'unreadable') {
      unreadable.add(name);
      continue;
    }
    const { state, sinceMs, order } = readBranch(Uint8Array.from(bytes));
    if (state === 'prepared') prepared.push({ xid: name, sinceMs, operations: order.operations });
    if (state === 'applied' || state === 'heuristicCommitted') applied.add(name);
  }
  const found = await recordOf(store, incarnationsKey);
  const lives = found === undefined || found === 'unreadable' ? [] : readIncarnations(found);
  return { node, lives: new Set(lives), decisions, applied, unreadable, prepared };
}

async function* recordsIn(
  store: Store,
  bucket: ByteString,
): AsyncGenerator<{ readonly name: string; readonly bytes: Uint8Array | 'unreadable' }, void, undefined> {
  const prefix = bucketPrefix('' as ByteString, bucket);
  for (const key of [...store.keysOfBucket(prefix)]) {
    const bytes = await recordOf(store, key);
    if (bytes !== undefined) yield { name: key.slice(prefix.length), bytes };
  }
}

async function recordOf(store: Store, key: PackedKey): Promise<Uint8Array | undefined | 'unreadable'> {
  try {
    return await store.get(key);
  } catch (error) {
    if (error instanceof LockstepError && error.code === 'Corrupted') return 'unreadable';
    throw error;
  }
}

/** Decides every prepared branch by the logs of all nodes. */
function decide(logs: readonly NodeLog[]): {
  readonly pending: ReadonlyMap<PackedKey, readonly PendingWrite[]>;
  readonly decided: DecidedTransactions;
} {
  const pending = new Map<PackedKey, PendingWrite[]>();
  const outcomes = new Map<string, 'committed' | 'aborted' | 'inDoubt'>();
  for (const { prepared, unreadable } of logs) {
    for (const xid of unreadable) outcomes.set(xid, 'inDoubt');
    for (const { xid, sinceMs, operations } of prepared) {
      const outcome = outcomeOf(xid, logs);
      // A part of it that cannot be read stays in doubt.
      if (!logs.some((log) => log.unreadable.has(xid))) outcomes.set(xid, outcome);
      if (outcome !== 'committed') continue;
      for (const operation of operations) {
        if (operation.check) continue;
        const writes = pending.get(operation.key);
        const write = { xid, operation, sinceMs };
        if (writes === undefined) pending.set(operation.key, [write]);
        else writes.push(write);
      }
    }
  }
  const having = (wanted: string): readonly string[] =>
    [...outcomes].filter(([, outcome]) => outcome === wanted).map(([xid]) => xid);
  return {
    pending,
    decided: { committed: having('committed'), aborted: having('aborted'), inDoubt: having('inDoubt') },
  };
}

function outcomeOf(xid: string, logs: readonly NodeLog[]): 'committed' | 'aborted' | 'inDoubt' {
  if (logs.some(({ decisions, applied }) => decisions.has(xid) || applied.has(xid))) return 'committed';
  const parsed = parseXid(xid);
  const coordinator = logs.find(({ node }) => node === coordinatorOf(xid));
  return parsed !== undefined && coordinator?.lives.has(lifeOf(parsed)) === true ? 'aborted' : 'inDoubt';
}

/** The properties that some node has; and how many records of them no node can read. */
async function readProperties(
  stores: readonly OpenedStore[],
): Promise<{ readonly table: PropertyTable; readonly unreadable: number }> {
  const table = new PropertyTable();
  const read = new Set<string>();
  const lost = new Set<string>();
  for (const { store } of stores) {
    for await (const { name, bytes } of recordsIn(store, byteStringOf('props'))) {
      (bytes === 'unreadable' ? lost : read).add(name);
      if (bytes !== 'unreadable')
        table.apply(table.changes([readRecord(new ByteReader(Uint8Array.from(bytes)))]));
    }
  }
  return { table, unreadable: [...lost].filter((name) => !read.has(name)).length };
}

/**
 * Types before their buckets: a type's own record has the shorter name. A type that was made at run time is listed even
 * if it has no properties: the mark that makes it a type is no property.
 */
function settingsIn(table: PropertyTable): readonly BucketSetting[] {
  return table.after('').flatMap(({ name, record }) => {
    const place = splitRecordName(name);
    const set = valuesOf(record);
    if (place === undefined || set.size === 0) return [];
    const props = Object.fromEntries([...set].filter(([property]) => property !== typeMark));
    return [{ type: textOf(place.type), bucket: textOf(place.bucket), name: place.bucket, props }];
  });
}
