/**
 * `npm run bench node`: a 3-node cluster of real processes under closed-loop load, with every write synced on a
 * majority before its acknowledgement. Alternates with a 3-node etcd where that is installed. Medians of alternated
 * rounds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Conversation, Endpoint, ErrorCounts, LoopResult } from './load/closed-loop.ts';
import { closedLoop } from './load/closed-loop.ts';
import type { KeySpace } from './load/conversations.ts';
import { httpGet, httpPut, pbFill, pbGet, pbPut } from './load/conversations.ts';
import { etcdFill, etcdLoop, etcdVersion, startEtcd } from './servers/etcd.ts';
import { answers, clusterPort, startCluster, stopChild } from './servers/lockstep-cluster.ts';
import { figure, median, quantile, table } from './figures.ts';

/** Size of the load; `seconds` per round. */
export interface NodeBenchOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly valueBytes: number;
  readonly json: boolean;
}

interface Contender {
  readonly name: string;
  run(): Promise<LoopResult>;
}

const basePort = 16_698;
const etcdPort = 28379;

/** Runs the benchmark and prints its table, or one line of JSON. */
export async function run(options: NodeBenchOptions): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-bench-'));
  const cluster = await startCluster(join(directory, 'lockstep'), basePort);
  const version = etcdVersion();
  const etcd = version === undefined ? undefined : await startEtcd(join(directory, 'etcd'), etcdPort);
  try {
    const space: KeySpace = { prefix: 'k', keys: 10_000, valueBytes: options.valueBytes };
    await fill(space, options);
    if (etcd !== undefined) await etcdFill(etcd, space, options.connections);
    const contenders: Contender[] = [
      ours('lockstep pb put', 11, pbPut, space, options),
      scraped(ours('lockstep pb put, scraped', 11, pbPut, space, options)),
      ours('lockstep http put', 0, httpPut, space, options),
    ];
    if (etcd !== undefined) {
      contenders.push({
        name: 'etcd grpc put',
        run: () => etcdLoop(etcd, 'put', space, options.connections, options.seconds),
      });
    }
    contenders.push(
      ours('lockstep pb get', 11, pbGet, space, options),
      ours('lockstep http get', 0, httpGet, space, options),
    );
    if (etcd !== undefined) {
      contenders.push({
        name: 'etcd grpc get',
        run: () => etcdLoop(etcd, 'get', space, options.connections, options.seconds),
      });
    }
    await report(contenders, options, version ?? 'etcd is not installed: nothing to compare with');
  } finally {
    await etcd?.stop();
    await stopChild(cluster);
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Time limit of the fill, in seconds; a slower machine cannot be measured. */
const fillSecondsMax = 120;

async function fill(space: KeySpace, { connections }: NodeBenchOptions): Promise<void> {
  const endpoint: Endpoint = { host: '127.0.0.1', port: clusterPort(basePort, 0, 11) };
  const { operations, errors } = await closedLoop([endpoint], connections, fillSecondsMax, (index) =>
    pbFill(space, index, connections),
  );
  if (operations < space.keys) {
    throw new Error(
      `${operations} of ${space.keys} keys were put before the rounds; ${errorLines(errors).join('; ')}`,
    );
  }
}

/**
 * Ports as `lockstep cluster --base-port` assigns them: each further node 10 higher, the binary protocol 11 below HTTP.
 */
function ours(
  name: string,
  portOffset: number,
  make: (space: KeySpace, index: number) => Conversation,
  space: KeySpace,
  options: NodeBenchOptions,
): Contender {
  const endpoints: readonly Endpoint[] = [0, 1, 2].map((index) => ({
    host: '127.0.0.1',
    port: clusterPort(basePort, index, portOffset),
  }));
  return {
    name,
    run: () => closedLoop(endpoints, options.connections, options.seconds, (index) => make(space, index)),
  };
}

/** Prometheus scrapes every 15 s or less often; this is thirty times as often. */
const scrapeIntervalMs = 500;
/** Port of node 1's stats listener, as `lockstep cluster` derives it from the base port. */
const statsPort = 22222 + basePort - 8098;

/** The same while every node's `/metrics` is fetched twice a second: the cost of scraping. */
function scraped(contender: Contender): Contender {
  return {
    name: contender.name,
    run: async () => {
      const watch = { over: false };
      const watching = scrape(watch);
      try {
        return await contender.run();
      } finally {
        watch.over = true;
        await watching;
      }
    },
  };
}

async function scrape(watch: { readonly over: boolean }): Promise<void> {
  while (!watch.over) {
    await Promise.all([0, 1, 2].map((node) => answers(statsPort + node * 10, '/metrics')));
    await sleep(scrapeIntervalMs);
  }
}

async function report(
  contenders: readonly Contender[],
  options: NodeBenchOptions,
  note: string,
): Promise<void> {
  const rates = new Map<string, number[]>();
  const p99s = new Map<string, number[]>();
  const errors: ErrorCounts = new Map();
  for (let round = 0; round <= options.rounds; round++) {
    for (const contender of contenders) {
      const result = await contender.run();
      for (const [words, count] of result.errors) errors.set(words, (errors.get(words) ?? 0) + count);
      if (round === 0) continue;
      push(rates, contender.name, result.operations / result.seconds);
      push(p99s, contender.name, quantile(result.latenciesUs, 0.99) / 1000);
    }
  }
  const rate = (name: string): number => median(rates.get(name) ?? []);
  const rows = contenders.map(({ name }) => {
    const reference = rate(`etcd grpc ${name.includes('put') ? 'put' : 'get'}`);
    const ratio = Number.isFinite(reference) ? figure(rate(name) / reference) : '-';
    return [name, figure(rate(name)), figure(median(p99s.get(name) ?? [])), ratio];
  });
  if (options.json) {
    const results = contenders.map(({ name }) => ({
      name,
      operationsPerSecond: rate(name),
      p99Ms: median(p99s.get(name) ?? []),
    }));
    process.stdout.write(
      `${JSON.stringify({ bench: 'node', ...options, errors: Object.fromEntries(errors), note, results })}\n`,
    );
    return;
  }
  const head = ['', 'operations/s', 'p99 ms', 'of etcd'];
  const text = [
    `${options.connections} connections, ${options.valueBytes}-byte values, median of ${options.rounds} rounds of ${options.seconds} s`,
    `(${note}; one warm-up round not counted)`,
    table([head, ...rows]),
    ...errorLines(errors),
  ];
  process.stdout.write(`${text.join('\n')}\n`);
}

/** Number of error kinds that are printed. */
const errorKindsShown = 5;

function errorLines(errors: ErrorCounts): readonly string[] {
  if (errors.size === 0) return ['no errors'];
  const kinds = [...errors].sort(([, left], [, right]) => right - left);
  return kinds.slice(0, errorKindsShown).map(([words, count]) => `${count} errors: ${words}`);
}

function push(lists: Map<string, number[]>, name: string, value: number): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [value]);
  else list.push(value);
}
