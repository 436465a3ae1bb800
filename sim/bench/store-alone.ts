/**
 * What `npm run bench store` measures of our store alone: memory per key, starts, and writes while a merge runs.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { mergeDefaults } from '../../engine/store/options.ts';
import type { Store } from '../../engine/store/store.ts';
import { quantile } from './figures.ts';
import { entriesFrom, openStore, writeBatch } from './store-contenders.ts';

export interface AloneFigures {
  readonly keys: number;
  /** By the store's own account: tables, rows and key bytes, less 24 bytes a key. */
  readonly bytesPerKey: number;
  /** By the process: growth of heap and buffers over the open, less 24 bytes a key. */
  readonly processBytesPerKey: number;
  readonly openFromHintsS: number;
  readonly openByScanS: number;
  readonly quietP99Ms: number;
  readonly mergingP99Ms: number;
  readonly merges: number;
}

const keyBytes = 24;
const valueBytes = 100;
const batchCount = 1000;
const writers = 64;
const mergingMsMax = 20_000;
const unsynced = { kind: 'interval', intervalUs: 1_000_000_000 } as const;

export async function measureAlone(directory: string, keys: number): Promise<AloneFigures> {
  await loadKeys(directory, keys);
  const start = await measureStart(directory, keys);
  removeHints(join(directory, 'store'));
  const [openByScanS, scanned] = await timedOpen(directory);
  await scanned.close();
  return { keys, ...start, openByScanS, ...(await measureMerging(join(directory, 'merging'))) };
}

async function loadKeys(directory: string, keys: number): Promise<void> {
  const store = await openStore(directory, {
    sync: unsynced,
    cacheBytes: 0,
    merge: { ...mergeDefaults, enabled: false },
  });
  for (let from = 0; from < keys; from += batchCount) {
    await writeBatch(store, entriesFrom(from, Math.min(batchCount, keys - from), valueBytes));
  }
  await store.settle();
  await store.close();
}

async function measureStart(
  directory: string,
  keys: number,
): Promise<Pick<AloneFigures, 'bytesPerKey' | 'processBytesPerKey' | 'openFromHintsS'>> {
  const before = await processBytes();
  const [openFromHintsS, store] = await timedOpen(directory);
  const after = await processBytes();
  if (store.recovery.hintsAbsent + store.recovery.hintsBad > 0) throw new Error('a hint file was not used');
  const { directoryBytes, keyCount } = store.figures;
  if (keyCount !== keys) throw new Error(`${keyCount} keys instead of ${keys}`);
  await store.close();
  return {
    openFromHintsS,
    bytesPerKey: directoryBytes / keys - keyBytes,
    processBytesPerKey: (after - before) / keys - keyBytes,
  };
}

async function timedOpen(directory: string): Promise<[number, Store]> {
  const startedMs = performance.now();
  const store = await openStore(directory, { cacheBytes: 0, merge: { ...mergeDefaults, enabled: false } });
  return [(performance.now() - startedMs) / 1000, store];
}

/** Buffers and heap in use, once what is no longer needed is gone (with `--expose-gc`; else as they are). */
async function processBytes(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Writes of 64 closed-loop writers: first with merges off, then while merges work through the garbage that is there. */
async function measureMerging(
  directory: string,
): Promise<Pick<AloneFigures, 'quietP99Ms' | 'mergingP99Ms' | 'merges'>> {
  const segmentBytes = 8 * 1024 * 1024;
  const options = { segmentBytes, cacheBytes: 8 * 1024 * 1024 };
  const quiet = await openStore(directory, { ...options, merge: { ...mergeDefaults, enabled: false } });
  // Garbage: every key many times over.
  for (let round = 0; round < 4; round++) {
    for (let from = 0; from < 100_000; from += batchCount)
      await writeBatch(quiet, entriesFrom(from, batchCount, valueBytes));
  }
  await quiet.settle();
  const quietP99Ms = quantile(await writeFor(quiet, 2000, () => false), 0.99);
  await quiet.close();
  const merging = await openStore(directory, options);
  const latencies = await writeFor(merging, mergingMsMax, () => merging.figures.mergeCount > 0);
  const { mergeCount } = merging.figures;
  await merging.settle();
  await merging.close();
  return { quietP99Ms, mergingP99Ms: quantile(latencies, 0.99), merges: mergeCount };
}

/** Latencies in milliseconds of 64 writers that overwrite keys, for so long or until `over`. */
async function writeFor(store: Store, forMs: number, over: () => boolean): Promise<readonly number[]> {
  const latencies: number[] = [];
  const untilMs = performance.now() + forMs;
  let next = 0;
  const writer = async (): Promise<void> => {
    for (let nowMs = performance.now(); nowMs < untilMs && !over();) {
      await writeBatch(store, entriesFrom(next++ % 100_000, 1, valueBytes));
      const answeredMs = performance.now();
      latencies.push(answeredMs - nowMs);
      nowMs = answeredMs;
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return latencies;
}

function removeHints(directory: string): void {
  for (const name of readdirSync(directory)) if (name.endsWith('.hint')) rmSync(join(directory, name));
}
