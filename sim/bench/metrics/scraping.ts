/**
 * `npm run bench scraping`: the cost for a cluster under load of scraping every node twice a second.
 *
 * The cost is smaller than the difference between runs, and between seconds or tenths of one run. Therefore one load
 * goes on without a pause, and short stretches with scrapes alternate with stretches without. Each stretch is compared
 * with its neighbour, by answered puts and by the nodes' processor time per put. The results are medians with the
 * interval that contains the true median with 95 % (order statistics). Stretches without scrapes, compared in the same
 * way, show the noise. The idle cluster shows the cost in processor time without a load.
 *
 * With `--times 10` everything happens ten times as often, publications included (in all stretches), and a tenth of the
 * difference is reported: the cost of a scrape does not depend on the interval, and the noise is the same for ten as
 * for one.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Conversation } from '../load/closed-loop.ts';
import { closedLoop } from '../load/closed-loop.ts';
import type { KeySpace } from '../load/conversations.ts';
import { pbFill, pbPut } from '../load/conversations.ts';
import type { Estimate } from '../figures.ts';
import { estimate, figure, median, table } from '../figures.ts';
import { LocalCluster } from '../servers/local-cluster.ts';
import { threadNanoseconds } from '../processor-time.ts';
import { Scraper } from './scraper.ts';

/** Size of the measurement. */
export interface ScrapingBenchOptions {
  /** Number of stretches with scrapes. */
  readonly rounds: number;
  readonly connections: number;
  /** Factor of the frequency of all scrapes and publications: 1 to 10. */
  readonly times: number;
  /** The formats that a scrape requests. */
  readonly formats: Formats;
  readonly json: boolean;
}

const pathsOf = { text: ['/metrics'], both: ['/metrics', '/'] } as const;
/** Names of the combinations of paths that a scrape requests. */
export type Formats = keyof typeof pathsOf;

const basePort = 16_398;
const nodeCount = 3;
/**
 * Keeps files in memory where possible: a disk varies by more than scrapes cost, and puts that do not wait for a disk
 * suffer most.
 */
const memory = '/dev/shm';
const scrapesPerSecond = 2;
const stretchMsMin = 100;
/** Longer stretches for an idle cluster, whose processor time varies with what a node does every second. */
const idleStretchMs = 1_000;
const warmUpMs = 4_000;
const loadSecondsMax = 600;
/** Scrapes before the measurement, so that the code is compiled. */
const firstScrapes = 200;
const keySpace: KeySpace = { prefix: 'k', keys: 10_000, valueBytes: 100 };

type Kind = 'scraped' | 'alone';

/** The effect of scrapes twice a second, relative to none (as logarithms): 0.01 is one in a hundred. */
interface Cost {
  readonly puts: Estimate;
  readonly processorPerPut: Estimate;
  /** In an idle cluster: share of a core, per node. */
  readonly idleShare: Estimate;
}

interface Figures {
  readonly rounds: number;
  readonly times: number;
  readonly formats: Formats;
  readonly putsPerSecond: number;
  readonly scraped: Cost;
  /** The same between stretches without scrapes: the noise. */
  readonly alone: Cost;
}

/** Runs the benchmark and prints its table, or one line of JSON. */
export async function run(options: ScrapingBenchOptions): Promise<void> {
  const directory = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'lockstep-scraping-'));
  const scraper = new Scraper();
  const variables = { LOCKSTEP_STATS_INTERVAL_MS: String(Math.round(1000 / options.times)) };
  const cluster = await LocalCluster.start(join(directory, 'lockstep'), basePort, { variables });
  try {
    await closedLoop(cluster.endpoints, options.connections, 60, (index) =>
      pbFill(keySpace, index, options.connections),
    );
    const figures = await measure(cluster, scraper, options);
    process.stdout.write(
      `${options.json ? JSON.stringify({ bench: 'scraping', ...figures }) : describe(figures)}\n`,
    );
  } finally {
    await scraper.stop();
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The number of answered puts so far; `over` ends the load. */
interface Load {
  puts: number;
  over: boolean;
}

interface Stretch {
  readonly kind: Kind;
  readonly seconds: number;
  readonly puts: number;
  /** Processor time of all nodes. */
  readonly nanoseconds: number;
}

async function measure(
  cluster: LocalCluster,
  scraper: Scraper,
  { rounds, times, connections, formats }: ScrapingBenchOptions,
): Promise<Figures> {
  const load: Load = { puts: 0, over: false };
  const ports = cluster.pids.map((_, node) => cluster.statsPort(node));
  const loop = closedLoop(cluster.endpoints, connections, loadSecondsMax, (index) =>
    counting(pbPut(keySpace, index), load),
  );
  await sleep(warmUpMs);
  for (let count = 0; count < firstScrapes; count++) {
    await scraper.scrape({ ports, paths: pathsOf.both });
  }
  const one = (kind: Kind, leastMs: number): Promise<Stretch> =>
    stretch(kind, leastMs, { pids: cluster.pids, ports, scraper, times, paths: pathsOf[formats], load });
  const loaded = await alternate(rounds, (kind) => one(kind, stretchMsMin));
  load.over = true;
  const { errors } = await loop;
  if (errors.size > 0) throw new Error(`the load met errors: ${[...errors.keys()].join('; ')}`);
  await sleep(warmUpMs);
  const idle = await alternate(Math.ceil(rounds / 20), (kind) => one(kind, idleStretchMs));
  const costOf = (kind: Kind): Cost => ({
    puts: differences(loaded, kind, times, (now, beside) => Math.log(rateOf(now) / rateOf(beside))),
    processorPerPut: differences(loaded, kind, times, (now, beside) =>
      Math.log(perPut(now) / perPut(beside)),
    ),
    idleShare: differences(idle, kind, times, (now, beside) => shareOf(now) - shareOf(beside)),
  });
  return {
    rounds,
    times,
    formats,
    putsPerSecond: median(loaded.filter(({ kind }) => kind === 'alone').map(rateOf)),
    scraped: costOf('scraped'),
    alone: costOf('alone'),
  };
}

const rateOf = ({ puts, seconds }: Stretch): number => puts / seconds;
const perPut = ({ puts, nanoseconds }: Stretch): number => nanoseconds / puts;
const shareOf = ({ nanoseconds, seconds }: Stretch): number => nanoseconds / 1e9 / seconds / nodeCount;

/**
 * Per time, the difference between each stretch of a kind and a neighbour without scrapes: the one before and the one
 * after in turns, never their mean. The mean would contain more of the rare long pauses than most stretches do, and
 * would bias the median.
 */
function differences(
  stretches: readonly Stretch[],
  kind: Kind,
  times: number,
  difference: (now: Stretch, beside: Stretch) => number,
): Estimate {
  // Every second stretch is without scrapes: the next such stretch is two away.
  const away = kind === 'alone' ? 2 : 1;
  const found: number[] = [];
  const all = stretches.flatMap((one, at) => (one.kind === kind ? [at] : []));
  all.forEach((at, index) => {
    const now = stretches[at];
    const beside = stretches[index % 2 === 0 ? at - away : at + away];
    if (now !== undefined && beside !== undefined) found.push(difference(now, beside) / times);
  });
  return estimate(found);
}

/** Stretches with scrapes, each between two without. */
async function alternate(rounds: number, one: (kind: Kind) => Promise<Stretch>): Promise<readonly Stretch[]> {
  const stretches: Stretch[] = [];
  for (let round = 0; round < rounds; round++) stretches.push(await one('alone'), await one('scraped'));
  stretches.push(await one('alone'));
  return stretches;
}

interface Surroundings {
  readonly pids: readonly number[];
  /** Of the stats listeners. */
  readonly ports: readonly number[];
  readonly scraper: Scraper;
  readonly times: number;
  readonly paths: readonly string[];
  readonly load: Readonly<Load>;
}

async function stretch(
  kind: Kind,
  leastMs: number,
  { pids, ports, scraper, times, paths, load }: Surroundings,
): Promise<Stretch> {
  const periodMs = 1000 / scrapesPerSecond / times;
  const startMs = performance.now();
  const puts = load.puts;
  const nanoseconds = nanosecondsOf(pids);
  for (let at = periodMs; at < leastMs + periodMs; at += periodMs) {
    if (kind === 'scraped') await scraper.scrape({ ports, paths });
    await sleep(Math.max(0, startMs + at - performance.now()));
  }
  return {
    kind,
    puts: load.puts - puts,
    nanoseconds: nanosecondsOf(pids) - nanoseconds,
    seconds: (performance.now() - startMs) / 1000,
  };
}

function nanosecondsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + threadNanoseconds(pid), 0);
}

/** The same conversation, counted, until the load is over. */
function counting(conversation: Conversation, load: Load): Conversation {
  return {
    request: () => (load.over ? undefined : conversation.request()),
    answerBytes: (received) => {
      const length = conversation.answerBytes(received);
      if (length > 0) load.puts += 1;
      return length;
    },
  };
}

function describe({ rounds, times, formats, putsPerSecond, scraped, alone }: Figures): string {
  const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
  const row = (name: string, { median: middle, low, high }: Estimate): string[] => {
    return [name, percent(middle), percent(low), percent(high)];
  };
  const rows = (what: string, { puts, processorPerPut, idleShare }: Cost): string[][] => [
    row(`${what}: puts`, puts),
    row(`${what}: processor time per put`, processorPerPut),
    row(`${what}: of a core, idle, per node`, idleShare),
  ];
  const what = formats === 'text' ? 'text' : 'text and JSON';
  return [
    `every node scraped twice a second (${what}): ${rounds} stretches, ${figure(putsPerSecond)} puts/s`,
    ...(times === 1 ? [] : [`(all of it ${times} times as often, and 1/${times} of the difference)`]),
    table([
      ['', 'median', '95 % from', 'to'],
      ...rows('scraped', scraped),
      ...rows('not (what noise looks like)', alone),
    ]),
  ].join('\n');
}
