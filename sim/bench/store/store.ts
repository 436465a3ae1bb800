/**
 * `npm run bench store`: Lockstep's store beside lmdb and classic-level, with the same data and durability, in one run.
 * The contenders alternate, round by round, each round in a fresh directory; reports medians of the rounds and ratios
 * to the other two. Synced puts, where the disk decides, alternate in short slices (store-slices.ts). Measurements of
 * Lockstep's store alone follow: memory per key, the start from hint files, writes during a merge (store-alone.ts).
 *
 * All use 24-byte keys and 100-byte values from one list; 64 writers that wait for each answer; batches of 1000, one at
 * a time; an fdatasync (or O_DSYNC write) before a synced answer. Loads are timed twice: with keys in ascending order,
 * the best case of a B+tree and of an LSM tree, and in random order, as keys arrive that a ring has spread. For cold
 * gets the stores are opened anew: once with their files in the kernel's page cache, and once in slices, with the files
 * dropped from it before each (page-cache.ts).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';

import { present } from '../../../engine/base/assert.ts';
import { figure, median, table } from '../figures.ts';
import { dropFromPageCache } from './page-cache.ts';
import type { AloneFigures } from './store-alone.ts';
import { measureAlone } from './store-alone.ts';
import type { SliceFigures } from './store-slices.ts';
import { describeSlices, measureSlices } from './store-slices.ts';
import type { Contender, Entry, Opened, OpenOptions } from './store-contenders.ts';
import { contenders, entriesFrom } from './store-contenders.ts';

/** Size of the measurement. */
export interface StoreBenchOptions {
  readonly rounds: number;
  /** Number of keys of the start and memory measurements. */
  readonly keys: number;
  readonly json: boolean;
  /** Only tables and races whose names contain this text. */
  readonly race?: string;
}

/** One kind of work: its preparation, and the timed part. Returns operations per second. */
interface Race {
  readonly name: string;
  readonly target: string;
  readonly options: OpenOptions;
  /**
   * Number of slices; before each the store is closed, its files are dropped from the page cache, and it is opened. The
   * first only warms up.
   */
  readonly slices?: number;
  prepare(opened: Opened): Promise<void>;
  run(opened: Opened, slice: number): Promise<number>;
}

interface RaceResult {
  readonly race: string;
  readonly target: string;
  /** Median operations per second, by contender. */
  readonly perSecond: Readonly<Record<string, number>>;
}

const valueBytes = 100;
const writers = 64;
/** Slices of each contender for every round of the other races. */
const slicesPerRound = 4;
const loadCount = 200_000;
const batchCount = 1000;
const hotKeys = 20_000;
const hotReads = 400_000;
const coldKeys = 100_000;
const coldReads = 40_000;
/** Reads per slice with an empty page cache: few enough that most of them miss it. */
const emptyReads = 2_000;
const emptySlices = 8;
const coldReaders = 64;

/** The batches are made beforehand, so that only the stores are timed. */
const batches: readonly (readonly Entry[])[] = Array.from({ length: loadCount / batchCount }, (_, index) =>
  entriesFrom(index * batchCount, batchCount, valueBytes),
);
const pairs = batches.flat();
/** The same pairs in random order. */
const spreadPairs = spread(pairs);
const spreadBatches = batches.map((_, index) =>
  spreadPairs.slice(index * batchCount, (index + 1) * batchCount),
);

const aloneName = 'lockstep alone';

/** The target: at least twice the better of the two others. */
const syncedPuts = 'synced puts, 64 writers';

const races: readonly Race[] = [
  {
    name: 'unsynced load, batches of 1000, keys ascending',
    target: '>= the better',
    options: { synced: false, cold: false },
    prepare: () => Promise.resolve(),
    run: (opened) => timed(loadCount, () => load(opened, batches)),
  },
  {
    name: 'unsynced load, batches of 1000, keys in no order',
    target: '>= the better',
    options: { synced: false, cold: false },
    prepare: () => Promise.resolve(),
    run: (opened) => timed(loadCount, () => load(opened, spreadBatches)),
  },
  {
    name: 'hot gets',
    target: '>= 0.5x lmdb, > classic-level',
    options: { synced: false, cold: false },
    prepare: loadHot,
    run: (opened) => timed(hotReads, () => readHot(opened)),
  },
  {
    name: 'cold gets, 64 readers, page cache warm',
    target: '> classic-level',
    options: { synced: false, cold: true },
    prepare: loadCold,
    run: (opened) => timed(coldReads, () => readCold(opened, 0, coldReads, coldKeys)),
  },
  {
    name: 'cold gets, 64 readers, page cache empty',
    target: '> classic-level',
    options: { synced: false, cold: true },
    slices: emptySlices + 1,
    prepare: (opened) => load(opened, spreadBatches),
    run: (opened, slice) =>
      timed(emptyReads, () => readCold(opened, slice * emptyReads, emptyReads, loadCount)),
  },
];

/** Runs the benchmark and prints its tables, or one line of JSON. */
export async function run(options: StoreBenchOptions): Promise<void> {
  const results: RaceResult[] = [];
  const chosen = races.filter(({ name }) => name.includes(options.race ?? ''));
  const slices = syncedPuts.includes(options.race ?? '')
    ? await measureSlices(contenders, pairs, writers, options.rounds * slicesPerRound)
    : [];
  for (const race of chosen) results.push(await measureRace(race, options.rounds));
  const alone = aloneName.includes(options.race ?? '')
    ? await inDirectory((directory) => measureAlone(directory, options.keys))
    : undefined;
  const text = options.json
    ? JSON.stringify({ slices, races: results, alone })
    : describe(slices, results, alone);
  process.stdout.write(`${text}\n`);
}

async function measureRace(race: Race, rounds: number): Promise<RaceResult> {
  const rates = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  // Round 0 warms up the code and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const contender of contenders) {
      const rate = await inDirectory((directory) => measureOnce(contender, race, directory));
      if (round > 0) rates.get(contender.name)?.push(rate);
    }
  }
  const perSecond = Object.fromEntries([...rates].map(([name, list]) => [name, median(list)]));
  return { race: race.name, target: race.target, perSecond };
}

async function measureOnce(contender: Contender, race: Race, directory: string): Promise<number> {
  const rates: number[] = [];
  const { slices = 1 } = race;
  let opened = await contender.open(directory, race.options);
  try {
    await race.prepare(opened);
    for (let slice = 0; slice < slices; slice++) {
      if (race.options.cold) {
        // A reopened store has nothing in its own memory; the kernel's cache serves all contenders alike.
        await opened.close();
        if (slices > 1) dropFromPageCache(directory);
        opened = await contender.open(directory, race.options);
      }
      rates.push(await race.run(opened, slice));
    }
    return median(slices > 1 ? rates.slice(1) : rates);
  } finally {
    await opened.close();
  }
}

async function timed(operations: number, work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (operations * 1000) / (performance.now() - startedMs);
}

async function load(opened: Opened, what: readonly (readonly Entry[])[]): Promise<void> {
  for (const batch of what) await opened.batch(batch);
}

/** Reads every value once, because a load alone does not fill the caches of all stores. */
async function loadHot(opened: Opened): Promise<void> {
  await load(opened, batches.slice(0, hotKeys / batchCount));
  for (let index = 0; index < hotKeys; index++) await opened.getHot(keyAt(index));
}

function loadCold(opened: Opened): Promise<void> {
  return load(opened, batches.slice(0, coldKeys / batchCount));
}

/** The list shuffled (Fisher and Yates) by a linear congruential generator: the same order in every run. */
function spread<T>(list: readonly T[]): readonly T[] {
  const left = [...list];
  let state = 1;
  for (let index = left.length - 1; index > 0; index--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = Math.floor((state / 0x100000000) * (index + 1));
    const [one, two] = [left[index], left[other]];
    if (one !== undefined && two !== undefined) [left[index], left[other]] = [two, one];
  }
  return left;
}

async function readHot(opened: Opened): Promise<void> {
  let place = 1;
  for (let read = 0; read < hotReads; read++) {
    place = (Math.imul(place, 1_103_515_245) + 12_345) >>> 0;
    const found = opened.getHot(keyAt((place >>> 8) % hotKeys));
    const value = found instanceof Promise ? await found : found;
    if (value?.length !== valueBytes) throw new Error('a hot get found no value');
  }
}

/** Reads `reads` of the first `keys` keys, from position `from` of a random order; each key at most once. */
async function readCold(opened: Opened, from: number, reads: number, keys: number): Promise<void> {
  let next = from;
  const reader = async (): Promise<void> => {
    while (next < from + reads) {
      const value = await opened.getCold(keyAt((next++ * 7919) % keys));
      if (value?.length !== valueBytes) throw new Error('a cold get found no value');
    }
  };
  await Promise.all(Array.from({ length: coldReaders }, reader));
}

function keyAt(index: number): Entry['key'] {
  return present(pairs[index], 'a key of the benchmark').key;
}

async function inDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-bench-store-'));
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function describe(
  slices: readonly SliceFigures[],
  results: readonly RaceResult[],
  alone: AloneFigures | undefined,
): string {
  const heading = [
    'operations/s',
    ...contenders.map(({ name }) => name),
    'ratio to lmdb',
    'to classic-level',
    'target',
  ];
  const rows = results.map(({ race, target, perSecond }) => {
    const [ours = NaN, lmdb = NaN, level = NaN] = contenders.map(({ name }) => perSecond[name] ?? NaN);
    return [
      race,
      figure(ours),
      figure(lmdb),
      figure(level),
      figure(ours / lmdb),
      figure(ours / level),
      target,
    ];
  });
  const load = `load average ${figure(loadavg()[0] ?? NaN)} on ${availableParallelism()} cores`;
  const tables = [
    ...(slices.length === 0 ? [] : [describeSlices(slices)]),
    ...(rows.length === 0 ? [] : [[heading, ...rows]]),
    ...(alone === undefined ? [] : [describeAlone(alone)]),
  ];
  return [...tables.map(table), load].join('\n\n');
}

function describeAlone(alone: AloneFigures): readonly (readonly string[])[] {
  return [
    [aloneName, 'measured', 'target'],
    ['keys', figure(alone.keys), ''],
    ['memory per key beyond the key, bytes', figure(alone.bytesPerKey), '<= 150'],
    ['the same by the process (heap and buffers)', figure(alone.processBytesPerKey), '<= 150'],
    ['open from hint files, page cache empty, s', figure(alone.openFromHintsS), '< 2'],
    ['open without hint files, the same, s', figure(alone.openByScanS), ''],
    ['write p99, quiet, ms', figure(alone.quietP99Ms), ''],
    ['write p99 while a merge copies, ms', figure(alone.mergingP99Ms), ''],
    ['ratio of the two, windows by turns', figure(alone.mergingRatio), '<= 3'],
    ['copied by merges meanwhile, MB', figure(alone.mergedBytes / 1e6), '> 0'],
  ];
}
