/** The part of `npm run bench store` without contenders: memory per key, starts, and writes during a merge. */
import { closeSync, openSync, readdirSync, readSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { present } from '../../../engine/base/assert.ts';
import { mergeDefaults } from '../../../engine/storage/options.ts';
import type { Store } from '../../../engine/storage/store.ts';
import { decodeSegmentHead, segmentHeadBytes } from '../../../engine/storage/log/record.ts';
import { median, quantile } from '../figures.ts';
import { dropFromPageCache } from './page-cache.ts';
import type { Entry } from './store-contenders.ts';
import { entriesFrom, openStore, writeBatch } from './store-contenders.ts';

/** The results. */
export interface AloneFigures {
  readonly keys: number;
  /** By the store's own account, in bytes: tables, rows and key bytes, less 24 bytes per key. */
  readonly bytesPerKey: number;
  /** By the process, in bytes: growth of heap and buffers over the open, less 24 bytes per key. */
  readonly processBytesPerKey: number;
  readonly openFromHintsS: number;
  readonly openByScanS: number;
  readonly quietP99Ms: number;
  readonly mergingP99Ms: number;
  /** Median of the ratios of successive windows. */
  readonly mergingRatio: number;
  /** Bytes that merges had copied by the ends of their windows, in total. */
  readonly mergedBytes: number;
}

const keyBytes = 24;
const valueBytes = 100;
const batchCount = 1000;
const writers = 64;
/** Number of opens of each kind. */
const startRounds = 3;
/** Keys that are overwritten in random order, so that old segments are partly alive. */
const mergedKeys = 300_000;
/** Number of windows of each kind, alternating; during those with merges, one is copying all the time. */
const mergingRounds = 4;
const windowMs = 1500;
const warmMs = 300;
const unsynced = { kind: 'interval', intervalUs: 1_000_000_000 } as const;

/** Measures a store of `keys` keys in `directory`. */
export async function measureAlone(directory: string, keys: number): Promise<AloneFigures> {
  await loadKeys(directory, keys);
  const memory = await measureMemory(directory, keys);
  const starts = await measureStarts(directory, keys);
  return { keys, ...memory, ...starts, ...(await measureMerging(join(directory, 'merging'))) };
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

/** The first open of the process warms up the code and is not timed. */
async function measureMemory(
  directory: string,
  keys: number,
): Promise<Pick<AloneFigures, 'bytesPerKey' | 'processBytesPerKey'>> {
  const before = await processBytes();
  const store = await openAlone(directory);
  const after = await processBytes();
  const { directoryBytes, keyCount } = store.figures;
  if (keyCount !== keys) throw new Error(`${keyCount} keys instead of ${keys}`);
  await store.close();
  return {
    bytesPerKey: directoryBytes / keys - keyBytes,
    processBytesPerKey: (after - before) / keys - keyBytes,
  };
}

/** Opens with and without hint files in turns, each with the files dropped from the kernel's page cache; medians. */
async function measureStarts(
  directory: string,
  keys: number,
): Promise<Pick<AloneFigures, 'openFromHintsS' | 'openByScanS'>> {
  const withHints: number[] = [];
  const withoutHints: number[] = [];
  for (let round = 0; round < startRounds; round++) {
    withHints.push(await timedOpen(directory, keys, true));
    const hints = hideHints(join(directory, 'store'));
    withoutHints.push(await timedOpen(directory, keys, false));
    for (const hint of hints) renameSync(`${hint}.hidden`, hint);
  }
  return { openFromHintsS: median(withHints), openByScanS: median(withoutHints) };
}

async function timedOpen(directory: string, keys: number, hinted: boolean): Promise<number> {
  dropFromPageCache(directory);
  const startedMs = performance.now();
  const store = await openAlone(directory);
  const tookS = (performance.now() - startedMs) / 1000;
  const { hintsUsed, hintsAbsent, hintsBad } = store.recovery;
  const asWanted = hinted ? hintsAbsent + hintsBad === 0 : hintsUsed === 0;
  if (!asWanted || store.keyCount !== keys) throw new Error('a start did not read what it should');
  await store.close();
  return tookS;
}

function openAlone(directory: string): Promise<Store> {
  return openStore(directory, { cacheBytes: 0, merge: { ...mergeDefaults, enabled: false } });
}

/** Buffers and heap in use after a garbage collection. */
async function processBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function')
    throw new Error('garbage cannot be collected on demand: memory would be guessed');
  for (let round = 0; round < 3; round++) {
    Reflect.apply(collect, undefined, []);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/**
 * Writes of 64 closed-loop writers that overwrite keys in random order: windows with merges off and on in turns, each
 * on a store with the same garbage, after a warm-up. Medians of the windows' 99th percentiles.
 */
async function measureMerging(
  directory: string,
): Promise<Pick<AloneFigures, 'quietP99Ms' | 'mergingP99Ms' | 'mergingRatio' | 'mergedBytes'>> {
  const entries = entriesFrom(0, mergedKeys, valueBytes);
  const quiet: number[] = [];
  const merging: number[] = [];
  let mergedBytes = 0;
  for (let round = 0; round < mergingRounds; round++) {
    const where = join(directory, `${round}`);
    const calm = await openWorn(join(where, 'calm'), entries, false);
    quiet.push(quantile(await writeFor(calm, entries, windowMs), 0.99));
    await calm.close();
    const busy = await openWorn(join(where, 'busy'), entries, true);
    merging.push(quantile(await writeFor(busy, entries, windowMs), 0.99));
    mergedBytes += bytesOfMerges(join(where, 'busy', 'store'));
    await busy.close();
    rmSync(where, { recursive: true });
  }
  const ratios = merging.map((p99, round) => p99 / (quiet[round] ?? NaN));
  return {
    quietP99Ms: median(quiet),
    mergingP99Ms: median(merging),
    mergingRatio: median(ratios),
    mergedBytes,
  };
}

/** A store of whose keys about two in three were overwritten, with or without merges. */
async function openWorn(directory: string, entries: readonly Entry[], merges: boolean): Promise<Store> {
  const options = { segmentBytes: 8 * 1024 * 1024, cacheBytes: 8 * 1024 * 1024 };
  const worn = await openStore(directory, { ...options, merge: { ...mergeDefaults, enabled: false } });
  for (let from = 0; from < mergedKeys; from += batchCount)
    await writeBatch(worn, entries.slice(from, from + batchCount));
  for (let from = 0; from < mergedKeys; from += batchCount) {
    await writeBatch(
      worn,
      Array.from({ length: batchCount }, () => anyOf(entries)),
    );
  }
  await worn.close();
  const store = await openStore(directory, { ...options, merge: { ...mergeDefaults, enabled: merges } });
  await writeFor(store, entries, warmMs);
  return store;
}

/** Latencies in milliseconds of 64 writers that overwrite keys for `forMs`. */
async function writeFor(store: Store, entries: readonly Entry[], forMs: number): Promise<readonly number[]> {
  const latencies: number[] = [];
  const untilMs = performance.now() + forMs;
  const writer = async (): Promise<void> => {
    for (let nowMs = performance.now(); nowMs < untilMs;) {
      await writeBatch(store, [anyOf(entries)]);
      const answeredMs = performance.now();
      latencies.push(answeredMs - nowMs);
      nowMs = answeredMs;
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return latencies;
}

let place = 1;

/** The next choice of a full-period congruential generator. */
function anyOf(entries: readonly Entry[]): Entry {
  place = (Math.imul(place, 1_664_525) + 1_013_904_223) >>> 0;
  return present(entries[Math.floor((place / 0x100000000) * entries.length)], 'an entry');
}

/** Bytes of segments that merges have written, complete or not. */
function bytesOfMerges(directory: string): number {
  let bytes = 0;
  for (const name of readdirSync(directory)) {
    if (!name.endsWith('.log')) continue;
    const head = Buffer.alloc(segmentHeadBytes);
    const path = join(directory, name);
    const fd = openSync(path, 'r');
    readSync(fd, head, 0, head.length, 0);
    closeSync(fd);
    if (decodeSegmentHead(head)?.kind === 'merge') bytes += statSync(path).size;
  }
  return bytes;
}

/** Renames the hint files; returns their original names. */
function hideHints(directory: string): readonly string[] {
  const paths = readdirSync(directory)
    .filter((name) => name.endsWith('.hint'))
    .map((name) => join(directory, name));
  for (const path of paths) renameSync(path, `${path}.hidden`);
  return paths;
}
