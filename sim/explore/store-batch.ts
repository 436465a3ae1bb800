/**
 * `lockstep-sim enumerate store-batch`: crashes a history of atomic batches, on the store alone, at every disk
 * operation with every survival of unsynced data (crash-images.ts), and opens the store again. The store must then hold
 * the result of some prefix of the batches that contains every answered batch. It must accept a further batch and hold
 * it after a graceful stop.
 *
 * At every point the process is also killed alone; what the next start shows must survive a crash of the host. Some of
 * the starts are crashed too, at each of their disk operations (`crash-loop`).
 *
 * The history contains rotations, merges, hint files and removals (`store-harness.ts`: small segments).
 */
import { present } from '../../engine/base/assert.ts';
import type { Random } from '../../engine/io/random.ts';
import { WorldRandom } from '../world/core/random.ts';
import { countCrashImages, crashImages } from './crash-images.ts';
import { JournalDisk } from './journal-disk.ts';
import type { DiskImage, DiskMoment } from './journal-disk.ts';
import type { Batch, Twin } from './store-harness.ts';
import {
  applyBatch,
  contentsOf,
  describeTwin,
  makeStoreHarness,
  openStore,
  sameContents,
  smallOptions,
  writeBatch,
} from './store-harness.ts';

/** The size of an enumeration. */
export interface StoreBatchOptions {
  readonly seed: number;
  /** Number of batches of the history. */
  readonly operations: number;
  /** Most crash states to visit; beyond them, states are sampled. */
  readonly statesMax: number;
  /** Called at intervals with the completed share, 0..1. */
  progress?(share: number): void;
}

/** What an enumeration visited and found. */
export interface StoreBatchReport {
  readonly seed: number;
  readonly operations: number;
  /** Number of disk operations of the history: each is a crash point. */
  readonly crashPoints: number;
  /** Number of crash points whose disk differs from the previous one. */
  readonly distinctPoints: number;
  /** Number of states that the disk model allows over all crash points, and of those visited. */
  readonly statesPossible: number;
  readonly statesVisited: number;
  /** Number of crash points of which only a sample of the states was visited. */
  readonly sampledPoints: number;
  /** Number of crash states visited of crashed starts, and of hosts after a kill and a start. */
  readonly startStatesVisited: number;
  /** Events of the history, to show that it was worth crashing. */
  readonly merges: number;
  readonly segments: number;
  /** Descriptions of violations; empty if there are none. */
  readonly failures: readonly string[];
}

/** The size of an enumeration without options. */
export const storeBatchDefaults = { seed: 1, operations: 60, statesMax: 10_000 };

const keyCount = 12;
const failuresMax = 10;
const statesMin = 4;
/** Of this many visited states, one has its start crashed too. */
const startEvery = 397;
const startImagesMax = 3;
const killImagesMax = 4;

/** A moment of the history, with the batches requested and answered by then. */
interface Point {
  readonly moment: DiskMoment;
  readonly at: string;
  readonly asked: number;
  readonly answered: number;
}

interface History {
  readonly batches: readonly Batch[];
  /** `twins[n]`: the expected contents after the first n batches. */
  readonly twins: readonly Twin[];
  readonly points: readonly Point[];
  readonly crashPoints: number;
  readonly merges: number;
  readonly segments: number;
}

/** Runs the enumeration. */
export async function enumerateStoreBatch(options: StoreBatchOptions): Promise<StoreBatchReport> {
  const random = WorldRandom.root(`store-batch/${options.seed}`);
  const history = await runHistory(random, options.operations);
  const visit = new Visit(history, random.fork('visit'));
  const perPoint = sharesOf(history.points, options.statesMax);
  for (const [index, point] of history.points.entries()) {
    await visit.point(point, present(perPoint[index], "a point's share"));
    options.progress?.((index + 1) / history.points.length);
    if (visit.failures.length >= failuresMax) break;
  }
  const { statesPossible, statesVisited, sampledPoints, startStatesVisited, failures } = visit;
  return {
    seed: options.seed,
    operations: options.operations,
    crashPoints: history.crashPoints,
    distinctPoints: history.points.length,
    statesPossible,
    statesVisited,
    sampledPoints,
    startStatesVisited,
    merges: history.merges,
    segments: history.segments,
    failures,
  };
}

/** How many states of each point to visit: all of a point with few, and an equal share of the rest elsewhere. */
function sharesOf(points: readonly Point[], statesMax: number): readonly number[] {
  const counts = points.map(({ moment }) => countCrashImages(moment));
  let share = 0;
  let left = statesMax;
  // Points with few states pass their unused share to the others.
  const ascending = counts.toSorted((a, b) => a - b);
  ascending.forEach((count, index) => {
    share = Math.max(statesMin, Math.floor(left / (ascending.length - index)));
    left = Math.max(0, left - Math.min(count, share));
  });
  return counts.map((count) => Math.min(count, share));
}

/** The report as a paragraph. */
export function describeStoreBatch(report: StoreBatchReport): string {
  const sampled =
    report.sampledPoints === 0
      ? 'every state of every point was visited'
      : `${report.sampledPoints} points have more states than fit and were sampled, the others visited in full`;
  return [
    `store-batch: ${report.operations} batches, ${report.merges} merges, seed ${report.seed}`,
    `crash points: ${report.crashPoints} disk operations, ${report.distinctPoints} with a disk of their own`,
    `crash states: ${report.statesVisited} visited of ${report.statesPossible} possible; ${sampled}`,
    `crashed starts: ${report.startStatesVisited} states visited`,
    report.failures.length === 0 ? 'all held' : `${report.failures.length} FAILED`,
    ...report.failures,
  ].join('\n');
}

async function runHistory(random: Random, operations: number): Promise<History> {
  const disk = new JournalDisk();
  const room = makeStoreHarness(disk, random.fork('room'));
  const batches: Batch[] = [];
  const points: Point[] = [];
  let answered = 0;
  let crashPoints = 0;
  let last = '';
  disk.watch((operation, path) => {
    crashPoints += 1;
    // Reading changes nothing: only the next change is a new point.
    if (['read', 'size', 'list', 'lock'].includes(operation)) return undefined;
    last = `${operation} ${path}`;
    points.push({ moment: disk.moment(), at: last, asked: batches.length, answered });
    return undefined;
  });
  let store = await openStore(room, smallOptions);
  const draw = random.fork('history');
  let merges = 0;
  while (batches.length < operations) {
    const burst = Math.min(1 + draw.below(4), operations - batches.length);
    const answers: Promise<void>[] = [];
    for (let writer = 0; writer < burst; writer++) {
      const batch = drawBatch(draw, batches.length);
      batches.push(batch);
      const answer = writeBatch(store, batch).then((error) => {
        if (error !== undefined) throw error;
        answered += 1;
      });
      answers.push(answer);
      // Sometimes the next writer arrives while a flush is in progress: two are then.
      for (let turn = draw.below(12); turn > 0; turn--) await Promise.resolve();
    }
    await Promise.all(answers);
    if (draw.chance(1, 12)) {
      merges += store.figures.mergeCount;
      await store.close();
      store = await openStore(room, smallOptions);
    }
  }
  await store.settle();
  merges += store.figures.mergeCount;
  const segments = store.figures.segmentCount;
  await store.close();
  points.push({ moment: disk.moment(), at: 'the end', asked: batches.length, answered });
  if (room.failures.length > 0) throw new Error('a task of the history failed', { cause: room.failures[0] });
  return { batches, twins: twinsOf(batches), points, crashPoints, merges, segments };
}

/** One to four changes of different keys; every fourth change is a removal. */
function drawBatch(draw: Random, index: number): Batch {
  const first = draw.below(keyCount);
  return Array.from({ length: 1 + draw.below(4) }, (_, step) => {
    const key = (first + step * 5) % keyCount;
    const value = draw.chance(1, 4) ? undefined : Buffer.alloc(4 + draw.below(200), `${index}/${step} `);
    return { key, value };
  });
}

function twinsOf(batches: readonly Batch[]): readonly Twin[] {
  const twins: Twin[] = [new Map()];
  for (const batch of batches) twins.push(applyBatch(present(twins.at(-1), 'the twin before'), batch));
  return twins;
}

/** Visits the states of one point after another and counts them. */
class Visit {
  readonly #history: History;
  readonly #random: Random;
  readonly failures: string[] = [];
  statesPossible = 0;
  statesVisited = 0;
  sampledPoints = 0;
  startStatesVisited = 0;

  constructor(history: History, random: Random) {
    this.#history = history;
    this.#random = random;
  }

  async point(point: Point, limit: number): Promise<void> {
    const { count, exhaustive, images } = crashImages(point.moment, limit, this.#random);
    this.statesPossible += count;
    if (!exhaustive) this.sampledPoints += 1;
    await this.#attempt(point, 'a kill', () => this.#kill(point));
    for (const image of images) {
      this.statesVisited += 1;
      await this.#attempt(point, 'a crash', () => this.#check(point, image));
      if (this.statesVisited % startEvery === 0) await this.#crashStart(point, image);
    }
  }

  /** Kills the process and starts it again; what that start shows must survive a crash of the host right after. */
  async #kill(point: Point): Promise<void> {
    const disk = JournalDisk.after(point.moment);
    const store = await openStore(makeStoreHarness(disk, this.#random.fork('kill')), smallOptions);
    const shown = await contentsOf(store, keyCount);
    this.#expectPrefix(point, shown);
    for (const image of crashImages(disk.moment(), killImagesMax, this.#random).images) {
      this.startStatesVisited += 1;
      const room = makeStoreHarness(new JournalDisk(image), this.#random.fork('crash'));
      const found = await contentsOf(await openStore(room, smallOptions), keyCount);
      if (!sameContents(found, shown)) {
        throw new Error(
          `shown after the kill: ${describeTwin(shown)}, found after the crash: ${describeTwin(found)}`,
        );
      }
    }
  }

  /** Crashes the start itself at each of its disk operations. */
  async #crashStart(point: Point, image: DiskImage): Promise<void> {
    const disk = new JournalDisk(image);
    const moments: DiskMoment[] = [];
    disk.watch(() => {
      moments.push(disk.moment());
      return undefined;
    });
    const store = await openStore(makeStoreHarness(disk, this.#random.fork('start')), smallOptions);
    await store.settle();
    for (const moment of moments) {
      for (const second of crashImages(moment, startImagesMax, this.#random).images) {
        this.startStatesVisited += 1;
        await this.#attempt(point, 'a crash and a crashed start', () => this.#check(point, second));
      }
    }
  }

  async #attempt(point: Point, story: string, check: () => Promise<void>): Promise<void> {
    try {
      await check();
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      this.failures.push(
        `${story} before ${point.at} (${point.answered} of ${point.asked} answered): ${detail}`,
      );
    }
  }

  async #check(point: Point, image: DiskImage): Promise<void> {
    const disk = new JournalDisk(image);
    const room = makeStoreHarness(disk, this.#random.fork('check'));
    const store = await openStore(room, smallOptions);
    if (store.damages.length > 0) throw new Error(`damage reported: ${JSON.stringify(store.damages)}`);
    const found = await contentsOf(store, keyCount);
    this.#expectPrefix(point, found);
    const further: Batch = [{ key: point.asked % keyCount, value: Buffer.from('further') }];
    const error = await writeBatch(store, further);
    if (error !== undefined) throw error;
    await store.settle();
    await store.close();
    const again = await openStore(makeStoreHarness(disk, this.#random.fork('again')), smallOptions);
    const expected = applyBatch(found, further);
    const kept = await contentsOf(again, keyCount);
    if (!sameContents(kept, expected)) {
      throw new Error(`after a stop: ${describeTwin(kept)} instead of ${describeTwin(expected)}`);
    }
    await again.close();
    if (room.failures.length > 0) throw new Error('a task failed', { cause: room.failures[0] });
  }

  #expectPrefix(point: Point, found: Twin): void {
    const { twins } = this.#history;
    for (let count = point.answered; count <= point.asked; count++) {
      if (sameContents(found, present(twins[count], 'a twin'))) return;
    }
    const answered = describeTwin(present(twins[point.answered], 'a twin'));
    throw new Error(`found ${describeTwin(found)}; answered was ${answered}`);
  }
}
