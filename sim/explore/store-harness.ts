/**
 * A store alone over a journal disk: its ports, a history of batches for it, and its contents. Time does not advance
 * and nothing waits for it, so a history runs to its end in microtasks, deterministically.
 */
import { Deferred } from '../../engine/base/deferred.ts';
import type { ByteString, Token } from '../../engine/base/ids.ts';
import { tokenMax } from '../../engine/base/ids.ts';
import type { LockstepError } from '../../engine/base/errors.ts';
import { bucketPrefix } from '../../engine/base/object-key.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import type { Disk } from '../../engine/io/disk.ts';
import type { Random } from '../../engine/io/random.ts';
import type { StoreOptions } from '../../engine/storage/options.ts';
import { mergeDefaults } from '../../engine/storage/options.ts';
import { Store } from '../../engine/storage/store.ts';
import type { StoreWrite } from '../../engine/storage/store.ts';
import type { StoreIo } from '../../engine/storage/store-io.ts';

/** The directory of the store on the disk. */
export const storeDirectory = 'store';
/** The path of the store's manifest. */
export const manifestPath = `${storeDirectory}/MANIFEST`;

/** Options small enough for rotations and merges within a few dozen batches. */
export const smallOptions: StoreOptions = {
  nodeName: 'n1',
  sync: { kind: 'always' },
  segmentBytes: 1200,
  preallocateBytes: 600,
  cacheBytes: 16 * 1024,
  batchBytesMax: 64 * 1024,
  merge: { ...mergeDefaults, smallCountMin: 4, copyBytesMax: 4800, sliceBytes: 1024, restPercent: 0 },
};

/** The ports of one incarnation of a store. Errors of failed tasks are recorded in `failures`: each is a bug. */
export interface StoreHarness {
  readonly io: StoreIo;
  readonly failures: unknown[];
}

/** Creates the ports over a disk. */
export function makeStoreHarness(disk: Disk, random: Random): StoreHarness {
  const failures: unknown[] = [];
  let nowUs = 0;
  const io: StoreIo = {
    disk,
    random,
    clock: { nowUs: () => nowUs++, wallMs: () => 0, after: () => ({ cancel: () => undefined }) },
    log: { enabled: () => false, event: () => undefined },
    checks: 'all',
    spawn: (_name, task) => {
      task().catch((error: unknown) => failures.push(error));
    },
  };
  return { io, failures };
}

/** Opens the store on the harness's disk. */
export function openStore(room: StoreHarness, options: StoreOptions): Promise<Store> {
  return Store.open(room.io, storeDirectory, options);
}

const prefix = bucketPrefix('default' as ByteString, 'b' as ByteString);

/** The key number `index`. */
export function keyNumber(index: number): PackedKey {
  return `${prefix}k${index}` as PackedKey;
}

/** The token of key number `index`; spread over the ring. */
export function tokenNumber(index: number): Token {
  return (Math.imul(index + 1, 0x9e3779b1) >>> 0) as Token;
}

/** A change of one key; `value` undefined removes it. */
export interface Change {
  readonly key: number;
  readonly value: Buffer | undefined;
}

/** Changes that are applied atomically. */
export type Batch = readonly Change[];

/** The expected contents of a store after some batches: key number to value. */
export type Twin = ReadonlyMap<number, Buffer>;

/** The expected contents after one more batch; does not modify `twin`. */
export function applyBatch(twin: Twin, batch: Batch): Twin {
  const next = new Map(twin);
  for (const { key, value } of batch) {
    if (value === undefined) next.delete(key);
    else next.set(key, value);
  }
  return next;
}

/** Batches that overwrite the first `keyCount` keys repeatedly and remove some: far more records than keys. */
export function rewriting(keyCount: number, batchCount: number): readonly Batch[] {
  return Array.from({ length: batchCount }, (_, index) => [
    { key: index % keyCount, value: index % 11 === 5 ? undefined : Buffer.alloc(30 + index, index + 1) },
    { key: (index * 5 + 1) % keyCount, value: Buffer.alloc(10 + index, index + 101) },
  ]);
}

/** The batch in the form that the store takes. */
export function writesOf(batch: Batch): readonly StoreWrite[] {
  return batch.map(({ key, value }) => ({ key: keyNumber(key), token: tokenNumber(key), value }));
}

/** Writes a batch; resolves with the error, or undefined on success. */
export function writeBatch(store: Store, batch: Batch): Promise<LockstepError | undefined> {
  const answer = new Deferred<LockstepError | undefined>();
  store.write(writesOf(batch), (error) => answer.resolve(error));
  return answer.promise;
}

/** The store's contents of `keyCount` keys, each read on its own; throws if iteration disagrees. */
export async function contentsOf(store: Store, keyCount: number): Promise<Twin> {
  const contents = new Map<number, Buffer>();
  for (let key = 0; key < keyCount; key++) {
    const value = await store.get(keyNumber(key));
    if (value !== undefined) contents.set(key, Buffer.from(value));
  }
  const listed = [...store.keysOfBucket(prefix)].toSorted();
  const byToken = [...store.keysOfTokens(0 as Token, tokenMax as Token)].toSorted();
  const expected = [...contents.keys()].map(keyNumber).toSorted();
  if (listed.join() !== expected.join()) throw new Error('keysOfBucket does not agree with get');
  if (byToken.join() !== expected.join()) throw new Error('keysOfTokens does not agree with get');
  return contents;
}

/** Whether both hold the same values under the same keys. */
export function sameContents(left: Twin, right: Twin): boolean {
  if (left.size !== right.size) return false;
  return [...left].every(([key, value]) => right.get(key)?.equals(value) === true);
}

/** `{0:12b 3:7b}`: keys and the lengths of their values. */
export function describeTwin(twin: Twin): string {
  const parts = [...twin].toSorted(([left], [right]) => left - right);
  return `{${parts.map(([key, value]) => `${key}:${value.length}b#${value.toString('hex').slice(0, 8)}`).join(' ')}}`;
}
