/**
 * `npm run bench peers`: Lockstep beside what people run today, under YCSB's workloads at fixed rates. All contenders
 * run at once on this machine and are measured in turns; results are medians of rounds. Appends a record to
 * `reports/bench/peers.json`, and draws `reports/bench/peers.svg`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { version } from '../../../engine/base/version.ts';
import { WorldRandom } from '../../world/core/random.ts';
import type { ErrorCounts } from '../load/closed-loop.ts';
import { BenchProcess, machineText, progress } from '../bench-process.ts';
import { figure, median, quantile, table } from '../figures.ts';
import { loopbackBytes, sharedMiB, writtenBytes } from '../processor-time.ts';
import { chartOf } from './chart.ts';
import type { PeerClient, PeerContender } from './contenders.ts';
import { startContenders } from './contenders.ts';
import { openLoop } from './open-loop.ts';
import type { YcsbWorkload } from './workloads.ts';
import { YcsbOperations, ycsbWorkloads } from './workloads.ts';

/** Options of the command. `rate`: operations a second. */
export interface PeersOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly rate: number;
  readonly lanes: number;
  readonly keys: number;
  readonly valueBytes: number;
  /** Sizes of the clusters of Lockstep and of etcd: one cluster of each for every size. */
  readonly nodes: readonly number[];
  /** Where the record and the chart are written; undefined: nowhere. */
  readonly out: string | undefined;
  readonly json: boolean;
}

/** One contender under one workload: medians of the rounds. */
interface PeerResult {
  readonly workload: string;
  readonly contender: string;
  readonly doneShare: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Milliseconds of processor time of all of its processes for 1,000 operations. */
  readonly processorMsPer1000: number;
  readonly memoryMiB: number;
  /**
   * Bytes that the machine's loopback carried for each operation, between client and servers and between servers, less
   * those that all contenders send without a request.
   */
  readonly wireBytes: number;
  /** Bytes that the disk took for each operation, with what the file system adds and other processes write. */
  readonly diskBytes: number;
  readonly errors: number;
}

type Figures = Omit<PeerResult, 'workload' | 'contender'>;

const idleSeconds = 3;

/** Runs the benchmark. */
export async function run(options: PeersOptions): Promise<void> {
  await BenchProcess.run(async (owner) => {
    const { contenders, missing } = await startContenders(owner, options);
    try {
      await report(options, missing, await measureAll(contenders, options));
    } finally {
      await Promise.all(contenders.map((contender) => contender.stop()));
    }
  });
}

async function measureAll(
  contenders: readonly PeerContender[],
  options: PeersOptions,
): Promise<readonly PeerResult[]> {
  const lanes = new Map<PeerContender, readonly PeerClient[]>();
  for (const contender of contenders) {
    progress(`${contender.name}: ${options.keys} keys`);
    const clients: PeerClient[] = [];
    for (let lane = 0; lane < options.lanes; lane++) clients.push(await contender.open(lane));
    lanes.set(contender, clients);
    await fill(clients, options.keys);
  }
  progress('what all of them send without a request');
  const beforeBytes = loopbackBytes();
  await sleep(idleSeconds * 1000);
  const idleBytes = (loopbackBytes() - beforeBytes) / idleSeconds;
  const results: PeerResult[] = [];
  for (const workload of ycsbWorkloads) {
    const rounds = new Map<PeerContender, Figures[]>(contenders.map((contender) => [contender, []]));
    // Round 0 warms up, and is not counted.
    for (let round = 0; round <= options.rounds; round++) {
      for (const contender of contenders) {
        progress(`${workload.name}, round ${round}: ${contender.name}`);
        const clients = lanes.get(contender) ?? [];
        const figures = await measure(contender, clients, workload, { ...options, idleBytes }, round);
        if (round > 0) rounds.get(contender)?.push(figures);
      }
    }
    for (const contender of contenders)
      results.push({
        workload: workload.name,
        contender: contender.name,
        ...mediansOf(rounds.get(contender) ?? []),
      });
  }
  for (const clients of lanes.values()) for (const client of clients) client.close();
  return results;
}

async function fill(clients: readonly PeerClient[], keys: number): Promise<void> {
  await Promise.all(
    clients.map(async (client, lane) => {
      for (let key = lane; key < keys; key += clients.length) await client.write(nameOf(key));
    }),
  );
}

async function measure(
  contender: PeerContender,
  clients: readonly PeerClient[],
  workload: YcsbWorkload,
  { rate, seconds, keys, idleBytes }: PeersOptions & { readonly idleBytes: number },
  round: number,
): Promise<Figures> {
  const operations = new YcsbOperations(workload, keys, WorldRandom.root(`${workload.name} ${round}`));
  const [beforeSeconds, beforeBytes] = [contender.processorSeconds(), loopbackBytes()];
  const beforeWritten = writtenBytes(tmpdir());
  const { due, done, errors, latenciesUs } = await openLoop(rate, seconds, clients.length, async (lane) => {
    const client = clients[lane];
    if (client === undefined) throw new Error('no connection');
    const { kind, key } = operations.next();
    if (kind !== 'write') await client.read(nameOf(key));
    if (kind === 'read') return;
    await client.write(nameOf(key));
  });
  const spent = contender.processorSeconds() - beforeSeconds;
  return {
    doneShare: done / due,
    p50Ms: quantile(latenciesUs, 0.5) / 1000,
    p99Ms: quantile(latenciesUs, 0.99) / 1000,
    p999Ms: quantile(latenciesUs, 0.999) / 1000,
    processorMsPer1000: (spent * 1e6) / Math.max(1, done),
    memoryMiB: sharedMiB(contender.pids()),
    wireBytes: (loopbackBytes() - beforeBytes - seconds * idleBytes) / Math.max(1, done),
    diskBytes: (writtenBytes(tmpdir()) - beforeWritten) / Math.max(1, done),
    errors: countOf(contender, errors),
  };
}

/** How many errors there were; says which. */
function countOf({ name }: PeerContender, errors: ErrorCounts): number {
  let sum = 0;
  for (const [words, count] of errors) {
    progress(`  ${name}: ${count} times ${words}`);
    sum += count;
  }
  return sum;
}

function mediansOf(rounds: readonly Figures[]): Figures {
  const of = (name: keyof Figures): number => median(rounds.map((one) => one[name]));
  return {
    ...{ doneShare: of('doneShare'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms'), p999Ms: of('p999Ms') },
    ...{ processorMsPer1000: of('processorMsPer1000'), memoryMiB: of('memoryMiB') },
    ...{ wireBytes: of('wireBytes'), diskBytes: of('diskBytes') },
    errors: of('errors'),
  };
}

function nameOf(key: number): string {
  return `k${key}`;
}

async function report(
  options: PeersOptions,
  missing: readonly string[],
  results: readonly PeerResult[],
): Promise<void> {
  const { out, json, ...settings } = options;
  const machine = machineText();
  const record = { date: new Date().toISOString(), version, machine, settings, missing, results };
  if (out !== undefined) keep(out, record);
  if (json) {
    process.stdout.write(`${JSON.stringify({ bench: 'peers', ...record })}\n`);
    return;
  }
  const head = [
    '',
    'p50 ms',
    'p99 ms',
    'p99.9 ms',
    'CPU ms/1,000',
    'MiB',
    'wire bytes',
    'disk bytes',
    'done',
    'errors',
  ];
  const rows = results.map((one) => [
    `${one.workload}  ${one.contender}`,
    ...[
      one.p50Ms,
      one.p99Ms,
      one.p999Ms,
      one.processorMsPer1000,
      one.memoryMiB,
      one.wireBytes,
      one.diskBytes,
    ].map(figure),
    `${figure(one.doneShare * 100)} %`,
    figure(one.errors),
  ]);
  const lines = [
    `YCSB at ${options.rate} operations/s, ${options.keys} keys of ${options.valueBytes} bytes, ${options.lanes} connections, median of ${options.rounds} rounds of ${options.seconds} s after one to warm up; all on this machine (${machine})`,
    table([head, ...rows]),
    ...(missing.length === 0 ? [] : [`not installed: ${missing.join(', ')}`]),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Adds the record to the history, and draws it. */
function keep(
  directory: string,
  record: { readonly results: readonly PeerResult[]; readonly date: string },
): void {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'peers.json');
  const history = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly object[]) : [];
  writeFileSync(file, `${JSON.stringify([...history, record], undefined, 2)}\n`);
  const contenders = [...new Set(record.results.map(({ contender }) => contender))];
  const workloads = ycsbWorkloads.map(({ name, description }) => ({
    name,
    title: `${name}: ${description}`,
  }));
  const panel = (
    title: string,
    value: (one: PeerResult) => number,
  ): Parameters<typeof chartOf>[3][number] => ({
    title,
    values: workloads.map(({ name }) =>
      contenders.map((contender) => {
        const found = record.results.find((one) => one.workload === name && one.contender === contender);
        return found === undefined ? NaN : value(found);
      }),
    ),
  });
  const chart = chartOf(
    `bench peers, ${record.date.slice(0, 10)} (logarithmic)`,
    workloads.map(({ title }) => title),
    contenders,
    [
      panel('median latency, ms', (one) => one.p50Ms),
      panel('99th percentile of latency, ms', (one) => one.p99Ms),
      panel('processor time for 1,000 operations, ms', (one) => one.processorMsPer1000),
      panel('memory, MiB', (one) => one.memoryMiB),
      panel('bytes on the wire for each operation', (one) => one.wireBytes),
      panel('bytes written to disk for each operation', (one) => one.diskBytes),
    ],
  );
  writeFileSync(join(directory, 'peers.svg'), chart);
}
