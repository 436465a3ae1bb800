/**
 * Synced puts of 64 writers, in short alternating slices. A shared disk may be five times slower a few seconds later,
 * so only successive slices are compared. All contenders stay open, in directories of one file system. One slice of
 * each makes a round, whose ratio counts. Reports medians and spreads of the ratios, and how many writers one sync
 * served where the store can tell.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { present } from '../../../engine/base/assert.ts';
import { figure, quantile } from '../figures.ts';
import type { Contender, Entry, Opened, PutDone } from './store-contenders.ts';

/** The results of one contender. */
export interface SliceFigures {
  readonly name: string;
  /** Puts per second: the slow tenth, the median, the fast tenth of the slices. */
  readonly perSecond: readonly [number, number, number];
  /** Lockstep's puts per second relative to this contender's, of the same round: the same three quantiles. */
  readonly ratio: readonly [number, number, number];
  /** Syncs per second and writers per sync; undefined where the store does not count syncs. */
  readonly syncsPerSecond: number | undefined;
  readonly writersPerSync: number | undefined;
}

interface Runner {
  readonly name: string;
  readonly directory: string;
  readonly opened: Opened;
  next: number;
  readonly rates: number[];
  puts: number;
  syncs: number;
  ms: number;
}

const sliceMs = 1000;

/** Measures rounds of slices after one for warming up; Lockstep is the first contender. */
export async function measureSlices(
  contenders: readonly Contender[],
  entries: readonly Entry[],
  writers: number,
  rounds: number,
): Promise<readonly SliceFigures[]> {
  const runners: Runner[] = [];
  for (const contender of contenders) {
    const directory = mkdtempSync(join(tmpdir(), 'lockstep-bench-slices-'));
    const opened = await contender.open(directory, { synced: true, cold: false });
    runners.push({ name: contender.name, directory, opened, next: 0, rates: [], puts: 0, syncs: 0, ms: 0 });
  }
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const runner of runners) await runSlice(runner, entries, writers, round > 0);
    }
    return runners.map((runner) => figuresOf(runner, runners[0]?.rates ?? []));
  } finally {
    for (const { opened, directory } of runners) {
      await opened.close();
      rmSync(directory, { recursive: true, force: true });
    }
  }
}

async function runSlice(
  runner: Runner,
  entries: readonly Entry[],
  writers: number,
  counts: boolean,
): Promise<void> {
  const { opened } = runner;
  const from = runner.next;
  const syncsBefore = opened.syncs?.() ?? 0;
  const startedMs = performance.now();
  await writeFor(sliceMs, writers, (done) => {
    opened.put(present(entries[runner.next++ % entries.length], 'an entry'), done);
  });
  if (!counts) return;
  const ms = performance.now() - startedMs;
  const puts = runner.next - from;
  runner.rates.push((puts * 1000) / ms);
  runner.puts += puts;
  runner.ms += ms;
  runner.syncs += (opened.syncs?.() ?? 0) - syncsBefore;
}

/** Runs writers that wait for each answer, for `forMs` and until the last answer; without a promise per write. */
function writeFor(forMs: number, writers: number, write: (done: PutDone) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let over = false;
    let writing = writers;
    const done: PutDone = (error) => {
      if (error !== undefined) reject(asError(error));
      else if (!over) write(done);
      else if (--writing === 0) resolve();
    };
    setTimeout(() => {
      over = true;
    }, forMs);
    for (let writer = 0; writer < writers; writer++) write(done);
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function figuresOf({ name, rates, puts, syncs, ms }: Runner, ours: readonly number[]): SliceFigures {
  const ratios = rates.map((rate, round) => (ours[round] ?? NaN) / rate);
  const known = syncs > 0;
  return {
    name,
    perSecond: spread(rates),
    ratio: spread(ratios),
    syncsPerSecond: known ? (syncs * 1000) / ms : undefined,
    writersPerSync: known ? puts / syncs : undefined,
  };
}

function spread(values: readonly number[]): readonly [number, number, number] {
  return [quantile(values, 0.1), quantile(values, 0.5), quantile(values, 0.9)];
}

/** The results as rows of a table. */
export function describeSlices(slices: readonly SliceFigures[]): readonly (readonly string[])[] {
  const heading = ['synced puts, 64 writers, slices by turns', 'slow tenth', 'median', 'fast tenth'];
  return [
    [...heading, 'ratio to it: low', 'median', 'high', 'syncs/s', 'writers a sync'],
    ...slices.map(({ name, perSecond, ratio, syncsPerSecond, writersPerSync }) => [
      name,
      ...perSecond.map(figure),
      ...ratio.map(figure),
      figure(syncsPerSecond ?? NaN),
      figure(writersPerSync ?? NaN),
    ]),
  ];
}
