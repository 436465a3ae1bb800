/**
 * `npm run bench backup` and `npm run bench tracing`: what a running backup, and tracing one request in a hundred, cost
 * a cluster under a load that never pauses. Stretches with it and without it alternate in one run. Each stretch with it
 * is compared with the stretch before it or the one after it, in turns. The result is the median ratio of their rates
 * with the interval that contains the true one with 95 %, and the same of the nodes' processor time for each put, which
 * other processes of the machine hardly change.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { builtFile } from '../processes/built-file.ts';
import { BenchProcess, freePort } from './bench-process.ts';
import type { Estimate } from './figures.ts';
import { estimate, figure, median, table } from './figures.ts';
import { closedLoop } from './load/closed-loop.ts';
import type { KeySpace } from './load/conversations.ts';
import { pbFill, pbPut } from './load/conversations.ts';
import { threadNanoseconds } from './processor-time.ts';
import { LocalCluster } from './servers/local-cluster.ts';

/** Size of the measurement. */
export interface OverheadBenchOptions {
  /** Stretches with what is measured. */
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  /** The pace of a backup for each node; the command's default unless given. */
  readonly bytesPerSecond: number | undefined;
  readonly json: boolean;
}

const basePorts = [16_598, 16_698] as const;
const keySpace: KeySpace = { prefix: 'k', keys: 20_000, valueBytes: 1000 };
const warmUpSeconds = 4;
const sampleRatio = '0.01';

/** What one stretch showed. */
interface Shown {
  readonly putsPerSecond: number;
  /** Microseconds of the nodes' processor time for each put. */
  readonly processorUs: number;
}

type Stretch = () => Promise<Shown>;

/** Measures a cluster while backups of it are taken one after the other, at the command's own pace. */
export async function runBackup(options: OverheadBenchOptions): Promise<void> {
  await BenchProcess.run(async (owner) => {
    const cluster = await loaded(owner, options, basePorts[0]);
    const load = loadOf(cluster, options);
    const members = cluster.httpEndpoints.flatMap(({ host, port }) => ['--node', `${host}:${port}`]);
    const { bytesPerSecond } = options;
    const pace = bytesPerSecond === undefined ? [] : ['--bytes-per-second', String(bytesPerSecond)];
    const place = join(owner.directory(), 'backups');
    let backups = 0;
    const withBackups = async (): Promise<Shown> => {
      const stretch = { isOver: false };
      const taking = (async () => {
        for (; !stretch.isOver; backups++) await take(owner, [place, ...pace, ...members]);
      })();
      const shown = await load();
      stretch.isOver = true;
      await taking;
      return shown;
    };
    report('backup', await alternate(options.rounds, load, withBackups), options, `${backups} backups`);
  });
}

/** Measures a cluster that traces one request in a hundred beside one that traces none. */
export async function runTracing(options: OverheadBenchOptions): Promise<void> {
  await BenchProcess.run(async (owner) => {
    const port = await freePort();
    let exports = 0;
    const collector = createServer((request, response) => {
      exports += 1;
      request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{}'));
    }).listen(port, '127.0.0.1');
    const tracing = {
      LOCKSTEP_OTEL_ENDPOINT: `http://127.0.0.1:${port}`,
      LOCKSTEP_OTEL_SAMPLE_RATIO: sampleRatio,
    };
    const plain = await loaded(owner, options, basePorts[0]);
    const traced = await loaded(owner, options, basePorts[1], tracing);
    const ratios = await alternate(options.rounds, loadOf(plain, options), loadOf(traced, options));
    collector.close();
    report('tracing', ratios, options, `${exports} exports`);
  });
}

/** Starts a cluster, fills it and lets its code be compiled. */
async function loaded(
  owner: BenchProcess,
  options: OverheadBenchOptions,
  basePort: number,
  variables: Readonly<Record<string, string>> = {},
): Promise<LocalCluster> {
  const began = (child: ChildProcess): void => owner.add(child, 'SIGTERM');
  const directory = join(owner.directory(), 'lockstep');
  const cluster = await LocalCluster.start(directory, basePort, { variables, began });
  const { connections } = options;
  await closedLoop(cluster.endpoints, connections, 120, (at) => pbFill(keySpace, at, connections));
  await loadOf(cluster, { connections, seconds: warmUpSeconds })();
  return cluster;
}

function loadOf(
  { endpoints, pids }: LocalCluster,
  { connections, seconds }: Pick<OverheadBenchOptions, 'connections' | 'seconds'>,
): Stretch {
  const usedUs = (): number => pids.reduce((sum, pid) => sum + threadNanoseconds(pid) / 1000, 0);
  return async () => {
    const beganUs = usedUs();
    const {
      operations,
      errors,
      seconds: took,
    } = await closedLoop(endpoints, connections, seconds, (index) => pbPut(keySpace, index));
    if (errors.size > 0) throw new Error(`the load met errors: ${[...errors.keys()].join('; ')}`);
    return { putsPerSecond: operations / took, processorUs: (usedUs() - beganUs) / operations };
  };
}

/** One backup by the command, to its end. */
async function take(owner: BenchProcess, words: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [builtFile('engine/main.js'), 'backup', 'take', ...words], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  owner.add(child, 'SIGTERM');
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`a backup ended with ${String(code)}`);
  await sleep(10);
}

interface Compared {
  readonly without: readonly Shown[];
  readonly with: readonly Shown[];
  /** With / without. */
  readonly rate: Estimate;
  readonly processor: Estimate;
}

async function alternate(rounds: number, without: Stretch, having: Stretch): Promise<Compared> {
  const [plain, other] = [[await without()], [] as Shown[]];
  for (let round = 0; round < rounds; round++) {
    other.push(await having());
    plain.push(await without());
  }
  const ratios = (of: (shown: Shown) => number): Estimate =>
    estimate(
      other.map((shown, index) => {
        const beside = plain[index % 2 === 0 ? index : index + 1];
        return beside === undefined ? NaN : of(shown) / of(beside);
      }),
    );
  return { without: plain, with: other, rate: ratios(rateOf), processor: ratios(processorOf) };
}

function rateOf({ putsPerSecond }: Shown): number {
  return putsPerSecond;
}

function processorOf({ processorUs }: Shown): number {
  return processorUs;
}

function report(
  bench: 'backup' | 'tracing',
  { without, with: having, rate, processor }: Compared,
  { rounds, seconds, connections, json }: OverheadBenchOptions,
  detail: string,
): void {
  const figures = {
    withoutPerSecond: median(without.map(rateOf)),
    withPerSecond: median(having.map(rateOf)),
    withoutUs: median(without.map(processorOf)),
    withUs: median(having.map(processorOf)),
    ratio: rate,
    processor,
  };
  if (json) {
    process.stdout.write(`${JSON.stringify({ bench, rounds, seconds, connections, detail, ...figures })}\n`);
    return;
  }
  const lines = [
    `${bench}: ${rounds} stretches of ${seconds} s, ${connections} connections, puts of ${keySpace.valueBytes} bytes (${detail})`,
    table([
      ['', 'puts/s', 'nodes’ processor us a put'],
      ['without', figure(figures.withoutPerSecond), figure(figures.withoutUs)],
      ['with', figure(figures.withPerSecond), figure(figures.withUs)],
    ]),
    `with / without, puts: ${textOf(rate)}`,
    `with / without, the nodes’ processor time a put: ${textOf(processor)}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function textOf({ median: middle, low, high }: Estimate): string {
  return `${middle.toFixed(3)} (95 % from ${low.toFixed(3)} to ${high.toFixed(3)})`;
}
