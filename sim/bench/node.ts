/**
 * `npm run bench node`: a 3-node cluster of real processes under closed-loop load, with every write synced on a
 * majority before its acknowledgement. Alternates with a 3-node etcd where that is installed, and with another build
 * (`--compare`). Medians of alternated rounds.
 */
import type { ChildProcess } from 'node:child_process';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { BenchProcess, machineText, progress } from './bench-process.ts';
import type { Conversation, Endpoint, ErrorCounts, LoopResult } from './load/closed-loop.ts';
import { closedLoop } from './load/closed-loop.ts';
import type { KeySpace } from './load/conversations.ts';
import { httpGet, httpPut, pbFill, pbGet, pbPut } from './load/conversations.ts';
import { processorSecondsOf, sharedMiB } from './processor-time.ts';
import type { EtcdCluster } from './servers/etcd.ts';
import { etcdFill, etcdLoop, etcdVersion, startEtcd } from './servers/etcd.ts';
import { LocalCluster } from './servers/local-cluster.ts';
import type { OtherBuild } from './servers/other-build.ts';
import { figure, median, quantile, table } from './figures.ts';

/** Size of the load; `seconds` per round. */
export interface NodeBenchOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly valueBytes: number;
  /** A build that is measured in turns with this one. */
  readonly other: OtherBuild | undefined;
  readonly json: boolean;
}

type Operation = 'put' | 'get';

/** A row of the table. */
interface Contender {
  /** What serves it: a build of Lockstep, or etcd. */
  readonly server: string;
  /** The protocol and what is asked: the same for both builds. */
  readonly load: string;
  readonly operation: Operation;
  readonly pids: readonly number[];
  run(): Promise<LoopResult>;
}

const ownName = 'lockstep';
const etcdName = 'etcd';
const nameOf = (other: OtherBuild): string => `${ownName} ${other.name}`;
const basePort = 16_698;
const otherBasePort = 16_798;
const etcdPort = 28379;

/** Runs the benchmark and prints its table, or one line of JSON. */
export function run(options: NodeBenchOptions): Promise<void> {
  return BenchProcess.run((owner) => measure(owner, options));
}

async function measure(owner: BenchProcess, options: NodeBenchOptions): Promise<void> {
  const directory = owner.directory();
  const space: KeySpace = { prefix: 'k', keys: 10_000, valueBytes: options.valueBytes };
  const started = async (name: string, port: number, dist?: string): Promise<readonly Contender[]> => {
    progress(`starting three nodes of ${name}, and filling them with ${space.keys} keys`);
    const began = (child: ChildProcess): void => owner.add(child, 'SIGINT');
    const cluster = await LocalCluster.start(join(directory, `nodes-${port}`), port, { began, dist });
    await fill(cluster, space, options);
    return contendersOf(name, cluster, space, options);
  };
  const contenders = [...(await started(ownName, basePort))];
  const { other } = options;
  if (other !== undefined) {
    contenders.push(...(await started(nameOf(other), otherBasePort, other.dist)));
  }
  const version = etcdVersion();
  if (version !== undefined) {
    const etcd = await startEtcd(join(directory, 'etcd'), etcdPort);
    owner.onEnd(() => etcd.stop());
    await etcdFill(etcd, space, options.connections);
    contenders.push(...etcdContenders(etcd, space, options));
  }
  // Puts first, and the builds one after the other: what disturbs the machine for a while disturbs both.
  const inOrder = (['put', 'get'] as const).flatMap((operation) =>
    contenders.filter((one) => one.operation === operation),
  );
  const loads = new Set(inOrder.map(({ load }) => load));
  const turns = [...loads].flatMap((load) => inOrder.filter((one) => one.load === load));
  await report(turns, options, version ?? 'etcd is not installed: nothing to compare with');
}

/** Time limit of the fill, in seconds; a slower machine cannot be measured. */
const fillSecondsMax = 120;

async function fill(
  cluster: LocalCluster,
  space: KeySpace,
  { connections }: NodeBenchOptions,
): Promise<void> {
  const { operations, errors } = await closedLoop(cluster.endpoints, connections, fillSecondsMax, (index) =>
    pbFill(space, index, connections),
  );
  if (operations < space.keys) {
    throw new Error(
      `${operations} of ${space.keys} keys were put before the rounds; ${errorLines(errors).join('; ')}`,
    );
  }
}

function contendersOf(
  server: string,
  cluster: LocalCluster,
  space: KeySpace,
  { connections, seconds }: NodeBenchOptions,
): readonly Contender[] {
  const one = (
    load: string,
    operation: Operation,
    endpoints: readonly Endpoint[],
    make: (space: KeySpace, index: number) => Conversation,
  ): Contender => ({
    server,
    load,
    operation,
    pids: cluster.pids,
    run: () => closedLoop(endpoints, connections, seconds, (index) => make(space, index)),
  });
  const put = one('pb put', 'put', cluster.endpoints, pbPut);
  return [
    put,
    scraped(put, cluster),
    one('http put', 'put', cluster.httpEndpoints, httpPut),
    one('pb get', 'get', cluster.endpoints, pbGet),
    one('http get', 'get', cluster.httpEndpoints, httpGet),
  ];
}

function etcdContenders(
  etcd: EtcdCluster,
  space: KeySpace,
  { connections, seconds }: NodeBenchOptions,
): readonly Contender[] {
  return (['put', 'get'] as const).map((operation) => ({
    server: etcdName,
    load: `grpc ${operation}`,
    operation,
    pids: etcd.pids,
    run: () => etcdLoop(etcd, operation, space, connections, seconds),
  }));
}

/** Prometheus scrapes every 15 s or less often; this is thirty times as often. */
const scrapeIntervalMs = 500;

/** The same while every node's `/metrics` is fetched twice a second: the cost of scraping. */
function scraped(contender: Contender, cluster: LocalCluster): Contender {
  return {
    ...contender,
    load: `${contender.load}, scraped`,
    run: async () => {
      const watch = { over: false };
      const watching = scrape(watch, cluster);
      try {
        return await contender.run();
      } finally {
        watch.over = true;
        await watching;
      }
    },
  };
}

async function scrape(watch: { readonly over: boolean }, cluster: LocalCluster): Promise<void> {
  while (!watch.over) {
    await Promise.all(cluster.pids.map((_, node) => readAll(cluster.statsPort(node), '/metrics')));
    await sleep(scrapeIntervalMs);
  }
}

/** Fetches and drops a page of this machine; resolves also if no process answers. */
function readAll(port: number, path: string): Promise<void> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path }, (response) => {
      response.resume().on('close', resolve);
    });
    request.on('error', () => resolve());
  });
}

interface Measured {
  readonly perSecond: number[];
  readonly p99Ms: number[];
  /** Processor time of all its servers for an operation. */
  readonly processorUs: number[];
}

interface Result {
  readonly server: string;
  readonly load: string;
  readonly operationsPerSecond: number;
  readonly p99Ms: number;
  readonly processorUs: number;
  readonly memoryMiB: number;
  readonly ofEtcd: number;
  readonly processorOfEtcd: number;
  /** Of the other build's rate and processor time; NaN without one. */
  readonly ofOther: number;
  readonly processorOfOther: number;
}

async function report(
  contenders: readonly Contender[],
  options: NodeBenchOptions,
  note: string,
): Promise<void> {
  const measured = new Map<Contender, Measured>(
    contenders.map((one) => [one, { perSecond: [], p99Ms: [], processorUs: [] }]),
  );
  const errors: ErrorCounts = new Map();
  for (let round = 0; round <= options.rounds; round++) {
    progress(round === 0 ? 'warm-up round' : `round ${round} of ${options.rounds}`);
    for (const [contender, { perSecond, p99Ms, processorUs }] of measured) {
      const before = processorSecondsOf(contender.pids);
      const result = await contender.run();
      for (const [words, count] of result.errors) errors.set(words, (errors.get(words) ?? 0) + count);
      if (round === 0) continue;
      perSecond.push(result.operations / result.seconds);
      p99Ms.push(quantile(result.latenciesUs, 0.99) / 1000);
      processorUs.push(((processorSecondsOf(contender.pids) - before) * 1e6) / result.operations);
    }
  }
  const results = resultsOf(measured, options.other);
  if (options.json) {
    const told = { errors: Object.fromEntries(errors), note, results };
    process.stdout.write(`${JSON.stringify({ bench: 'node', ...options, ...told })}\n`);
    return;
  }
  const text = [
    `${options.connections} connections, ${options.valueBytes}-byte values, median of ${options.rounds} rounds of ${options.seconds} s`,
    `(${note}; one warm-up round not counted; CPU and memory of all three servers)`,
    machineText(),
    tableOf(results, options.other),
    ...errorLines(errors),
  ];
  process.stdout.write(`${text.join('\n')}\n`);
}

function resultsOf(
  measured: ReadonlyMap<Contender, Measured>,
  other: OtherBuild | undefined,
): readonly Result[] {
  const all = [...measured];
  return all.map(([{ server, load, operation, pids }, own]) => {
    const etcd = all.find(([one]) => one.server === etcdName && one.operation === operation)?.[1];
    const besideName = other !== undefined && server === ownName ? nameOf(other) : undefined;
    const beside = all.find(([one]) => one.server === besideName && one.load === load)?.[1];
    const ratio = (of: 'perSecond' | 'processorUs', to: Measured | undefined): number =>
      median(own[of]) / median(to?.[of] ?? []);
    return {
      server,
      load,
      operationsPerSecond: median(own.perSecond),
      p99Ms: median(own.p99Ms),
      processorUs: median(own.processorUs),
      memoryMiB: sharedMiB(pids),
      ofEtcd: ratio('perSecond', etcd),
      processorOfEtcd: ratio('processorUs', etcd),
      ofOther: ratio('perSecond', beside),
      processorOfOther: ratio('processorUs', beside),
    };
  });
}

function tableOf(results: readonly Result[], other: OtherBuild | undefined): string {
  const shown = (value: number): string => (Number.isFinite(value) ? figure(value) : '-');
  const head = [
    ...['', 'operations/s', 'p99 ms', 'CPU µs', 'MiB', 'of etcd', 'CPU of etcd'],
    ...(other === undefined ? [] : [`of ${other.name}`, `CPU of ${other.name}`]),
  ];
  const rows = results.map((one) => [
    `${one.server} ${one.load}`,
    ...[one.operationsPerSecond, one.p99Ms, one.processorUs, one.memoryMiB].map(shown),
    ...[one.ofEtcd, one.processorOfEtcd].map(shown),
    ...(other === undefined ? [] : [one.ofOther, one.processorOfOther].map(shown)),
  ]);
  return table([head, ...rows]);
}

/** Number of error kinds that are printed. */
const errorKindsShown = 5;

function errorLines(errors: ErrorCounts): readonly string[] {
  if (errors.size === 0) return ['no errors'];
  const kinds = [...errors].sort(([, left], [, right]) => right - left);
  return kinds.slice(0, errorKindsShown).map(([words, count]) => `${count} errors: ${words}`);
}
