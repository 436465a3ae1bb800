/**
 * The Redis protocol under redis-benchmark: SET and GET over 64 connections with pipelines of 1 and 16, for one node, a
 * cluster of three, redis-server that syncs every write, and a proxy before it. All alternate in one run; load and
 * servers share this machine's cores.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { ClientsBenchOptions, Section } from './client-section.ts';
import { figure, median, table } from '../figures.ts';
import { clusterPort, startCluster, stopChild } from '../servers/lockstep-cluster.ts';
import type { Contender } from '../servers/redis-contenders.ts';
import { ownNode, proxyBefore, redisServer, untilOpen } from '../servers/redis-contenders.ts';

const basePort = 17_398;
const keyCount = 100_000;
const connections = 64;
const valueBytes = 100;
const pipelines = [1, 16] as const;
const commands = ['SET', 'GET'] as const;

type Measured = Map<string, number[]>;

/** Runs the section; returns an explanation if the programs are not installed. */
export async function redisSection(options: ClientsBenchOptions): Promise<Section> {
  if (!isInstalled('redis-benchmark') || !isInstalled('redis-server')) {
    const text =
      'Redis: redis-benchmark and redis-server are not installed (Debian: redis-tools, redis-server)';
    return { name: 'redis', text, results: [] };
  }
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-bench-redis-'));
  const contenders: Contender[] = [];
  try {
    contenders.push(await ownNode(join(directory, 'own'), basePort - 300));
    contenders.push(await ownCluster(join(directory, 'cluster')));
    contenders.push(await redisServer(join(directory, 'redis'), basePort - 200));
    contenders.push(await proxyBefore(basePort - 200, basePort - 150));
    const before = loadavg();
    const section = sectionOf(contenders, await measure(contenders, options));
    return { ...section, text: `${section.text}\n${loadsText(before, loadavg())}` };
  } finally {
    for (const { children } of contenders.reverse()) for (const child of children) await stopChild(child);
    rmSync(directory, { recursive: true, force: true });
  }
}

async function ownCluster(directory: string): Promise<Contender> {
  const child = await startCluster(directory, basePort);
  const port = clusterPort(basePort, 0, -1);
  await untilOpen(port);
  return { name: 'lockstep, three nodes', port, children: [child] };
}

/** The load average of the machine before and after. */
function loadsText(before: readonly number[], after: readonly number[]): string {
  const text = (loads: readonly number[]): string => loads.map((load) => load.toFixed(1)).join(' ');
  return `load averages (1, 5, 15 min): ${text(before)} before, ${text(after)} after`;
}

async function measure(contenders: readonly Contender[], options: ClientsBenchOptions): Promise<Measured> {
  const measured: Measured = new Map();
  for (let round = 0; round < options.rounds; round++) {
    for (const pipeline of pipelines) {
      for (const command of commands) {
        for (const { name, port } of contenders) {
          const what = caseOf(name, command, pipeline);
          const rates = measured.get(what) ?? [];
          measured.set(what, rates);
          rates.push(await rateOf(port, command, pipeline, options));
        }
      }
    }
  }
  return measured;
}

/** Requests per second, as redis-benchmark reports them. */
async function rateOf(
  port: number,
  command: (typeof commands)[number],
  pipeline: number,
  { redisRequests }: ClientsBenchOptions,
): Promise<number> {
  const load = ['-n', String(redisRequests), '-c', String(connections), '-P', String(pipeline)];
  const data = ['-d', String(valueBytes), '-r', String(keyCount), '-t', command.toLowerCase()];
  const words = ['-h', '127.0.0.1', '-p', String(port), ...load, ...data, '--csv'];
  const { stdout } = await promisify(execFile)('redis-benchmark', words);
  const line = stdout.split('\n').find((one) => one.startsWith(`"${command}"`));
  return Number(line?.split(',')[1]?.replaceAll('"', '') ?? NaN);
}

function sectionOf(contenders: readonly Contender[], measured: Measured): Section {
  const cases = pipelines.flatMap((pipeline) => commands.map((command) => ({ pipeline, command })));
  const rate = (name: string, command: string, pipeline: number): number =>
    median(measured.get(caseOf(name, command, pipeline)) ?? []);
  const server = contenders.find(({ name }) => name.startsWith('redis-server'))?.name ?? '';
  const results = contenders.flatMap(({ name }) =>
    cases.map(({ command, pipeline }) => {
      const perSecond = rate(name, command, pipeline);
      return { name, command, pipeline, perSecond, ofRedis: perSecond / rate(server, command, pipeline) };
    }),
  );
  const heading = ['requests/s (of redis-server)', ...cases.map((one) => `${one.command} P${one.pipeline}`)];
  const rows = contenders.map(({ name }) => [
    name,
    ...results
      .filter((result) => result.name === name)
      .map(({ perSecond, ofRedis }) => `${figure(perSecond)} (${ofRedis.toFixed(2)})`),
  ]);
  const about = `Redis: ${connections} connections, values of ${valueBytes} bytes, ${keyCount} keys; SETs are synced first`;
  return { name: 'redis', text: `${about}\n${table([heading, ...rows])}`, results };
}

function caseOf(name: string, command: string, pipeline: number): string {
  return `${name} ${command} ${pipeline}`;
}

function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}
