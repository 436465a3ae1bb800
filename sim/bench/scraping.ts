/**
 * `npm run bench scraping`: what it costs a cluster under load that every node's `/metrics` is fetched twice a second.
 * Whole runs beside each other, and whole seconds too, differ by more than that. So one load goes on without a pause, and
 * each half second is looked at by itself: what was put in it, of what its last four tenths put at their rate; a scrape
 * falls into its first tenth. Four half seconds with scrapes make a block, as one scraper a while would, and four without
 * another. The figures are medians of blocks with the interval that holds the true median with 95 % (order statistics);
 * blocks without scrapes tell what this way of looking makes of nothing. The idle row says the same in processor time,
 * which nothing else moves then.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Conversation, Endpoint } from './closed-loop.ts';
import { closedLoop } from './closed-loop.ts';
import type { KeySpace } from './conversations.ts';
import { pbFill, pbPut } from './conversations.ts';
import type { Estimate } from './figures.ts';
import { estimate, figure, median, table } from './figures.ts';
import { clusterPort, startCluster, stopChild } from './own-cluster.ts';
import { childrenOf, threadNanoseconds } from './processor-time.ts';
import { Scraper } from './scraper.ts';

export interface ScrapingBenchOptions {
  /** Blocks of half seconds with a scrape, and as many without. */
  readonly rounds: number;
  readonly connections: number;
  readonly json: boolean;
}

const basePort = 16_398;
const nodeCount = 3;
/** The stats listeners, as `lockstep cluster` moves them with the base port. */
const statsPorts: readonly number[] = [0, 1, 2].map((node) => 22222 + basePort - 8098 + node * 10);
/** Files in memory, where there are such: a disk swings by more than scrapes cost, and puts that wait for none lose most. */
const memory = '/dev/shm';
const sliceMs = 1_000;
const scrapesPerSecond = 2;
const warmUpMs = 4_000;
const loadSecondsMax = 600;
/** Scrapes in a row, to tell one from the noise of an idle process. */
const burst = 200;
const keySpace: KeySpace = { prefix: 'k', keys: 10_000, valueBytes: 100 };
const endpoints: readonly Endpoint[] = [0, 1, 2].map((node) => ({
  host: '127.0.0.1',
  port: clusterPort(basePort, node, 11),
}));

interface Figures {
  readonly pairs: number;
  readonly putsPerSecond: number;
  /** Puts of half seconds with a scrape, of what they were without its tenth; and of those without a scrape. */
  readonly scraped: Estimate;
  readonly control: Estimate;
  /** Of an idle cluster, per node: share of a core that two scrapes a second take. */
  readonly idleShare: Estimate;
  /** Processor time of one scrape of a node when nothing was published meanwhile, microseconds. */
  readonly scrapeUs: number;
}

export async function run(options: ScrapingBenchOptions): Promise<void> {
  const directory = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'lockstep-scraping-'));
  const scraper = new Scraper();
  const cluster = await startCluster(join(directory, 'lockstep'), basePort);
  try {
    const pids = childrenOf(cluster.pid ?? 0);
    if (pids.length !== nodeCount)
      throw new Error(`the cluster has ${pids.length} processes that can be watched`);
    await closedLoop(endpoints, options.connections, 60, (index) =>
      pbFill(keySpace, index, options.connections),
    );
    const figures = await measure(pids, scraper, options);
    process.stdout.write(
      `${options.json ? JSON.stringify({ bench: 'scraping', ...figures }) : describe(figures)}\n`,
    );
  } finally {
    await scraper.stop();
    await stopChild(cluster);
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Puts answered so far; once it is over no more are asked. */
interface Load {
  puts: number;
  over: boolean;
}

/** A stretch of an idle cluster. */
interface Slice {
  readonly nanoseconds: number;
  readonly seconds: number;
}

async function measure(
  pids: readonly number[],
  scraper: Scraper,
  options: ScrapingBenchOptions,
): Promise<Figures> {
  const load: Load = { puts: 0, over: false };
  const loop = closedLoop(endpoints, options.connections, loadSecondsMax, (index) =>
    counting(pbPut(keySpace, index), load),
  );
  await sleep(warmUpMs);
  for (let count = 0; count < burst; count++) await scraper.scrape(statsPorts);
  const scraped: Period[] = [];
  const control: Period[] = [];
  for (let round = 0; round < options.rounds; round++) {
    scraped.push(await block(scraper, load));
    control.push(await block(undefined, load));
  }
  load.over = true;
  const { errors } = await loop;
  if (errors.size > 0) throw new Error(`the load met errors: ${[...errors.keys()].join('; ')}`);
  await sleep(warmUpMs);
  const idle = await alternate(options.rounds, scraper, pids);
  const share = ({ nanoseconds, seconds }: Slice): number => nanoseconds / 1e9 / seconds / nodeCount;
  return {
    pairs: options.rounds,
    putsPerSecond: median(control.map(({ putsPerSecond }) => putsPerSecond)),
    scraped: estimate(scraped.map(({ ratio }) => ratio)),
    control: estimate(control.map(({ ratio }) => ratio)),
    idleShare: estimate(idle.map(([without, watched]) => share(watched) - share(without))),
    scrapeUs: await burstCostUs(scraper, pids),
  };
}

interface Period {
  readonly putsPerSecond: number;
  /** Puts of the whole period, of those that its tenths behind the first make it. */
  readonly ratio: number;
}

const periodMs = 1000 / scrapesPerSecond;
const binsPerPeriod = 5;

const periodsPerBlock = 4;

async function block(scraper: Scraper | undefined, load: Readonly<Load>): Promise<Period> {
  const periods: Period[] = [];
  while (periods.length < periodsPerBlock) periods.push(await period(scraper, load));
  const mean = (of: (one: Period) => number): number =>
    periods.reduce((sum, one) => sum + of(one), 0) / periods.length;
  return {
    putsPerSecond: mean(({ putsPerSecond }) => putsPerSecond),
    ratio: mean(({ ratio }) => ratio),
  };
}

/** Half a second under load; a scrape of every node begins with it, or does not. */
async function period(scraper: Scraper | undefined, load: Readonly<Load>): Promise<Period> {
  const scrapes = scraper?.scrape(statsPorts);
  const startMs = performance.now();
  const rates: number[] = [];
  let before = { puts: load.puts, ms: startMs };
  for (let bin = 1; bin <= binsPerPeriod; bin++) {
    await sleep(Math.max(0, startMs + (bin * periodMs) / binsPerPeriod - performance.now()));
    const now = { puts: load.puts, ms: performance.now() };
    rates.push((now.puts - before.puts) / (now.ms - before.ms));
    before = now;
  }
  await scrapes;
  const mean = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0) / list.length;
  return { putsPerSecond: mean(rates) * 1000, ratio: mean(rates) / mean(rates.slice(1)) };
}

/** Neighbouring slices without scrapes and with; which comes first changes from pair to pair. */
async function alternate(
  rounds: number,
  scraper: Scraper,
  pids: readonly number[],
): Promise<readonly (readonly [without: Slice, scraped: Slice])[]> {
  const pairs: (readonly [Slice, Slice])[] = [];
  for (let round = 0; round < rounds; round++) {
    const first = await slice(round % 2 === 1 ? scraper : undefined, pids);
    const second = await slice(round % 2 === 0 ? scraper : undefined, pids);
    pairs.push(round % 2 === 0 ? [first, second] : [second, first]);
  }
  return pairs;
}

async function slice(scraper: Scraper | undefined, pids: readonly number[]): Promise<Slice> {
  const before = { nanoseconds: nanosecondsOf(pids), ms: performance.now() };
  for (let at = 0; at < sliceMs; at += periodMs) {
    await scraper?.scrape(statsPorts);
    await sleep(Math.max(0, before.ms + at + periodMs - performance.now()));
  }
  return {
    nanoseconds: nanosecondsOf(pids) - before.nanoseconds,
    seconds: (performance.now() - before.ms) / 1000,
  };
}

/** Of node 1, one after the other. */
async function burstCostUs(scraper: Scraper, pids: readonly number[]): Promise<number> {
  const before = nanosecondsOf(pids);
  for (let count = 0; count < burst; count++) await scraper.scrape(statsPorts.slice(0, 1));
  return (nanosecondsOf(pids) - before) / 1000 / burst;
}

function nanosecondsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + threadNanoseconds(pid), 0);
}

/** The same, counted, until the load is over. */
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

function describe(figures: Figures): string {
  const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
  const row = (name: string, { median: middle, low, high }: Estimate): string[] => {
    return [name, percent(middle), percent(low), percent(high)];
  };
  return [
    `${figures.pairs} blocks of ${periodsPerBlock} half seconds with a scrape of every node and as many without, ${figure(figures.putsPerSecond)} puts/s`,
    table([
      ['', 'median', '95 % from', 'to'],
      row('puts of half seconds with a scrape, of those they would have had', figures.scraped),
      row('the same of a half second without', figures.control),
      row('idle, scraped twice a second: share of a core per node', figures.idleShare),
    ]),
    `one scrape more of one publication: ${figure(figures.scrapeUs)} us of processor time`,
  ].join('\n');
}
