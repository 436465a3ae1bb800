/**
 * The stores that `npm run bench store` compares, behind one narrow face: ours, lmdb (a B+tree) and classic-level (an
 * LSM tree). Each is used as its documentation advises for speed, and all have the same durability: with `synced`, a
 * write is answered after an fdatasync that covers it (lmdb: `overlappingSync` off, since it answers before).
 */
import { join } from 'node:path';

import type { Token } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { createRealIo } from '../../engine/real/io.ts';
import { storeDefaults } from '../../engine/storage/options.ts';
import type { StoreOptions } from '../../engine/storage/options.ts';
import { Store } from '../../engine/storage/store.ts';

/** One pair to write. It has the shape of our store's writes; the others take what they need of it. */
export interface Entry {
  readonly key: PackedKey;
  readonly token: Token;
  readonly value: Buffer;
}

/**
 * The entries `from` to `from + count - 1`: keys of 24 bytes, tokens spread over the ring, values that do not compress
 * (classic-level would otherwise write, and read, a fraction of the bytes of the others).
 */
export function entriesFrom(from: number, count: number, valueBytes: number): readonly Entry[] {
  return Array.from({ length: count }, (_, index) => {
    const token = (Math.imul(from + index, 0x9e3779b1) >>> 0) as Token;
    const at = token % (noise.length - valueBytes);
    return { key: keyOf(from + index), token, value: noise.subarray(at, at + valueBytes) };
  });
}

/** A megabyte of bytes without a pattern, the same in every run (a linear congruential generator's upper bits). */
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

export function keyOf(index: number): PackedKey {
  return Buffer.from(`key-${String(index).padStart(20, '0')}`, 'latin1').toString('latin1') as PackedKey;
}

export type Value = Uint8Array | undefined;

/** Called once, later: without an error when what was written is durable as was asked. */
export type PutDone = (error: unknown) => void;

export interface Opened {
  /** One pair, by the store's own way of answering: ours calls back, the others' are promises. */
  put(entry: Entry, done: PutDone): void;
  batch(entries: readonly Entry[]): Promise<unknown>;
  /** The fastest way to read what is in memory. */
  getHot(key: PackedKey): Value | Promise<Value>;
  /** The fastest way to read what is not, without blocking the event loop where there is one. */
  getCold(key: PackedKey): Value | Promise<Value>;
  /** Syncs so far that served writers, where the store counts them. */
  syncs?(): number;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly synced: boolean;
  /** Without a cache of values in this process, as far as the store can do without. */
  readonly cold: boolean;
}

export interface Contender {
  readonly name: string;
  open(directory: string, options: OpenOptions): Promise<Opened>;
}

export const contenders: readonly Contender[] = [
  { name: 'lockstep', open: openOurs },
  { name: 'lmdb', open: openLmdb },
  { name: 'classic-level', open: openLevel },
];

export function openStore(directory: string, options: Partial<StoreOptions>): Promise<Store> {
  const io = createRealIo({ dataDirectory: directory, logLevel: 'error', node: 'bench' });
  return Store.open(io, 'store', { ...storeDefaults, nodeName: 'bench', ...options });
}

/** One batch, as a promise. */
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
    // One sync (and one write of its meta page that is as good as one) a transaction.
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
