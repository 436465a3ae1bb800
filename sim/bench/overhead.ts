/**
 * `npm run bench backup` and `npm run bench tracing`: what a running backup, and tracing one request in a hundred, cost
 * a cluster under a load that never pauses. Stretches with it and without it alternate in one run. Each stretch with it
 * is compared with the stretch before it or the one after it, in turns. The result is the median ratio of their rates
 * with the interval that contains the true one with 95 %.
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { builtFile } from '../processes/built-file.ts';
import { BenchProcess, freePort } from './bench-process.ts';
import type { Estimate } from './figures.ts';
import { estimate, figure, median, table } from './figures.ts';
import type { Endpoint } from './load/closed-loop.ts';
import { closedLoop } from './load/closed-loop.ts';
import type { KeySpace } from './load/conversations.ts';
import { pbFill, pbPut } from './load/conversations.ts';
import { clusterPort, startCluster } from './servers/lockstep-cluster.ts';

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
const nodes = [0, 1, 2];
const keySpace: KeySpace = { prefix: 'k', keys: 20_000, valueBytes: 1000 };
const warmUpSeconds = 4;
const sampleRatio = '0.01';

/** Puts a second of one stretch. */
type Stretch = () => Promise<number>;

/** Measures a cluster while backups of it are taken one after the other, at the command's own pace. */
export async function runBackup(options: OverheadBenchOptions): Promise<void> {
  await BenchProcess.run(async (owner) => {
    const [endpoints] = await clusters(owner, options, [{}]);
    const load = loadOf(endpoints ?? [], options);
    const members = nodes.flatMap((node) => ['--node', `127.0.0.1:${clusterPort(basePorts[0], node, 0)}`]);
    const { bytesPerSecond } = options;
    const pace = bytesPerSecond === undefined ? [] : ['--bytes-per-second', String(bytesPerSecond)];
    const place = join(owner.directory(), 'backups');
    let backups = 0;
    const withBackups = async (): Promise<number> => {
      const stretch = { isOver: false };
      const taking = (async () => {
        for (; !stretch.isOver; backups++) await take(owner, [place, ...pace, ...members]);
      })();
      const rate = await load();
      stretch.isOver = true;
      await taking;
      return rate;
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
    const [plain, traced] = await clusters(owner, options, [{}, tracing]);
    const ratios = await alternate(
      options.rounds,
      loadOf(plain ?? [], options),
      loadOf(traced ?? [], options),
    );
    collector.close();
    report('tracing', ratios, options, `${exports} exports`);
  });
}

/** Starts a cluster for each set of variables, one after the other, fills it and lets its code be compiled. */
async function clusters(
  owner: BenchProcess,
  options: OverheadBenchOptions,
  variables: readonly Readonly<Record<string, string>>[],
): Promise<readonly (readonly Endpoint[])[]> {
  const all: (readonly Endpoint[])[] = [];
  for (const [index, some] of variables.entries()) {
    const basePort = basePorts[index] ?? 0;
    owner.add(await startCluster(join(owner.directory(), 'lockstep'), basePort, some), 'SIGTERM');
    const endpoints = nodes.map((node) => ({ host: '127.0.0.1', port: clusterPort(basePort, node, 11) }));
    const { connections } = options;
    await closedLoop(endpoints, connections, 120, (at) => pbFill(keySpace, at, connections));
    await loadOf(endpoints, { ...options, seconds: warmUpSeconds })();
    all.push(endpoints);
  }
  return all;
}

function loadOf(
  endpoints: readonly Endpoint[],
  { connections, seconds }: Pick<OverheadBenchOptions, 'connections' | 'seconds'>,
): Stretch {
  return async () => {
    const {
      operations,
      errors,
      seconds: took,
    } = await closedLoop(endpoints, connections, seconds, (index) => pbPut(keySpace, index));
    if (errors.size > 0) throw new Error(`the load met errors: ${[...errors.keys()].join('; ')}`);
    return operations / took;
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

interface Rates {
  readonly without: readonly number[];
  readonly with: readonly number[];
  readonly ratio: Estimate;
}

async function alternate(rounds: number, without: Stretch, having: Stretch): Promise<Rates> {
  const [plain, other] = [[await without()], [] as number[]];
  for (let round = 0; round < rounds; round++) {
    other.push(await having());
    plain.push(await without());
  }
  const ratios = other.map((rate, index) => rate / (plain[index % 2 === 0 ? index : index + 1] ?? NaN));
  return { without: plain, with: other, ratio: estimate(ratios) };
}

function report(
  bench: 'backup' | 'tracing',
  { without, with: having, ratio }: Rates,
  { rounds, seconds, connections, json }: OverheadBenchOptions,
  detail: string,
): void {
  const figures = { withoutPerSecond: median(without), withPerSecond: median(having), ratio };
  if (json) {
    process.stdout.write(`${JSON.stringify({ bench, rounds, seconds, connections, detail, ...figures })}\n`);
    return;
  }
  const lines = [
    `${bench}: ${rounds} stretches of ${seconds} s, ${connections} connections, puts of ${keySpace.valueBytes} bytes (${detail})`,
    table([
      ['', 'puts/s'],
      ['without', figure(figures.withoutPerSecond)],
      ['with', figure(figures.withPerSecond)],
    ]),
    `with / without: ${ratio.median.toFixed(3)} (95 % from ${ratio.low.toFixed(3)} to ${ratio.high.toFixed(3)})`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
