/**
 * The stores that `npm run bench store` compares, behind one narrow interface: Lockstep's, lmdb (a B+tree) and
 * classic-level (an LSM tree). Each is used as its documentation advises for speed, with the same durability: with
 * `synced`, a write is answered after an fdatasync that covers it (lmdb: `overlappingSync` off, since it answers
 * before).
 */
import { join } from 'node:path';

import type { Token } from '../../../engine/base/ids.ts';
import type { PackedKey } from '../../../engine/base/object-key.ts';
import { createRealIo } from '../../../engine/real/io.ts';
import { storeDefaults } from '../../../engine/storage/options.ts';
import type { StoreOptions } from '../../../engine/storage/options.ts';
import { Store } from '../../../engine/storage/store.ts';

/** One pair to write, in the form of Lockstep's store; the other stores use part of it. */
export interface Entry {
  readonly key: PackedKey;
  readonly token: Token;
  readonly value: Buffer;
}

/**
 * The entries `from` to `from + count - 1`: keys of 24 bytes, tokens spread over the ring, incompressible values (with
 * others, classic-level would write and read a fraction of the bytes).
 */
export function entriesFrom(from: number, count: number, valueBytes: number): readonly Entry[] {
  return Array.from({ length: count }, (_, index) => {
    const token = (Math.imul(from + index, 0x9e3779b1) >>> 0) as Token;
    const at = token % (noise.length - valueBytes);
    return { key: keyOf(from + index), token, value: noise.subarray(at, at + valueBytes) };
  });
}

/** A megabyte of pseudorandom bytes, the same in every run (a linear congruential generator's upper bits). */
const noise = makeNoise(1024 * 1024);

function makeNoise(bytes: number): Buffer {
  const made = Buffer.alloc(bytes);
  let state = 1;
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    made[at] = state >>> 24;
  }
  return made;
}

/** The key number `index`, 24 bytes. */
export function keyOf(index: number): PackedKey {
  return Buffer.from(`key-${String(index).padStart(20, '0')}`, 'latin1').toString('latin1') as PackedKey;
}

/** A value that was read; undefined if there is none. */
export type Value = Uint8Array | undefined;

/** Called once, asynchronously: without an error once the write is as durable as requested. */
export type PutDone = (error: unknown) => void;

/** An open store. */
export interface Opened {
  /** Writes one pair in the store's own style: Lockstep's calls back, the others return promises. */
  put(entry: Entry, done: PutDone): void;
  batch(entries: readonly Entry[]): Promise<unknown>;
  /** The fastest way to read a value that is in memory. */
  getHot(key: PackedKey): Value | Promise<Value>;
  /** The fastest way to read a value that is not in memory, without blocking the event loop where possible. */
  getCold(key: PackedKey): Value | Promise<Value>;
  /** Number of syncs so far that served writers, where the store counts them. */
  syncs?(): number;
  close(): Promise<void>;
}

/** How to open a store. */
export interface OpenOptions {
  readonly synced: boolean;
  /** Without a cache of values in this process, as far as the store allows. */
  readonly cold: boolean;
}

/** A store under comparison. */
export interface Contender {
  readonly name: string;
  open(directory: string, options: OpenOptions): Promise<Opened>;
}

/** All stores; Lockstep's is the first. */
export const contenders: readonly Contender[] = [
  { name: 'lockstep', open: openOurs },
  { name: 'lmdb', open: openLmdb },
  { name: 'classic-level', open: openLevel },
];

/** Opens Lockstep's store with real ports. */
export function openStore(directory: string, options: Partial<StoreOptions>): Promise<Store> {
  const io = createRealIo({ dataDirectory: directory, logLevel: 'error', node: 'bench' });
  return Store.open(io, 'store', { ...storeDefaults, nodeName: 'bench', ...options });
}

/** Writes one batch; resolves once it is answered. */
export function writeBatch(store: Store, batch: readonly Entry[]): Promise<void> {
  return new Promise((resolve, reject) => {
    store.write(batch, (error) => (error === undefined ? resolve() : reject(error)));
  });
}

function tell(written: Promise<unknown>, done: PutDone): void {
  written.then(() => done(undefined), done);
}

async function openOurs(directory: string, { synced, cold }: OpenOptions): Promise<Opened> {
  const sync = synced
    ? { kind: 'always' as const }
    : { kind: 'interval' as const, intervalUs: 1_000_000_000 };
  const store = await openStore(directory, { sync, ...(cold ? { cacheBytes: 0 } : {}) });
  return {
    put: (entry, done) => store.write([entry], done),
    batch: (entries) => writeBatch(store, entries),
    getHot: (key) => store.get(key),
    getCold: (key) => store.get(key),
    syncs: () => store.figures.flushCount,
    close: () => store.close(),
  };
}

async function openLmdb(directory: string, { synced }: OpenOptions): Promise<Opened> {
  const { open } = await import('lmdb');
  const db = open<Buffer, string>({
    path: join(directory, 'lmdb'),
    encoding: 'binary',
    noSync: !synced,
    overlappingSync: false,
    mapSize: 4 * 1024 ** 3,
  });
  return {
    put: ({ key, value }, done) => tell(db.put(key, value), done),
    batch: (entries) => {
      return db.transaction(() => {
        for (const { key, value } of entries) db.putSync(key, value);
      });
    },
    getHot: (key) => db.getBinaryFast(key),
    getCold: (key) => db.getBinary(key),
    // One sync per transaction (and an equivalent write of its meta page).
    syncs: () => (db.getStats() as { readonly lastTxnId: number }).lastTxnId,
    close: () => db.close(),
  };
}

async function openLevel(directory: string, { synced, cold }: OpenOptions): Promise<Opened> {
  const { ClassicLevel } = await import('classic-level');
  const db = new ClassicLevel<string, Buffer>(join(directory, 'level'), {
    keyEncoding: 'utf8',
    valueEncoding: 'buffer',
    cacheSize: cold ? 64 * 1024 : 64 * 1024 * 1024,
  });
  await db.open();
  return {
    put: ({ key, value }, done) => tell(db.put(key, value, { sync: synced }), done),
    batch: (entries) =>
      db.batch(
        entries.map(({ key, value }) => ({ type: 'put' as const, key, value })),
        { sync: synced },
      ),
    getHot: (key) => db.getSync(key),
    getCold: (key) => db.get(key),
    close: () => db.close(),
  };
}
