/**
 * The Redis protocol under redis-benchmark: SET and GET over 64 connections with pipelines of 1 and 16, for one node, a
 * cluster of three (the connections spread over its nodes) and another build of both (`--compare`), redis-server that
 * syncs every write, and a proxy before it. All alternate in one run; load and servers share this machine's cores.
 */
import type { ChildProcess } from 'node:child_process';
import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { ClientsBenchOptions, Section } from './client-section.ts';
import { BenchProcess, machineText, progress } from '../bench-process.ts';
import { figure, median, table } from '../figures.ts';
import { processorSecondsOf } from '../processor-time.ts';
import { LocalCluster } from '../servers/local-cluster.ts';
import type { OtherBuild } from '../servers/other-build.ts';
import type { Contender } from '../servers/redis-contenders.ts';
import { isInstalled, proxyBefore, redisServer, untilOpen } from '../servers/redis-contenders.ts';

const basePort = 17_098;
/** Distance of the other build's ports. */
const otherPorts = 500;
const keyCount = 100_000;
const connections = 64;
const valueBytes = 100;
const pipelines = [1, 16] as const;
const commands = ['SET', 'GET'] as const;
const cases = pipelines.flatMap((pipeline) => commands.map((command) => ({ pipeline, command })));

type Case = (typeof cases)[number];

/** What the rounds showed of one contender under one load. */
interface Measured {
  readonly perSecond: number[];
  /** Processor time of all its processes for a request. */
  readonly processorUs: number[];
}

type Rounds = ReadonlyMap<Contender, ReadonlyMap<Case, Measured>>;

/** Runs the section; returns an explanation if the programs are not installed. */
export async function redisSection(options: ClientsBenchOptions): Promise<Section> {
  if (!isInstalled('redis-benchmark') || !isInstalled('redis-server')) {
    const text =
      'Redis: redis-benchmark and redis-server are not installed (Debian: redis-tools, redis-server)';
    return { name: 'redis', text, results: [] };
  }
  let section: Section | undefined;
  await BenchProcess.run(async (owner) => {
    const contenders = await start(owner, options.other);
    const before = loadavg();
    section = sectionOf(await measure(contenders, options));
    section = { ...section, text: `${section.text}\n${loadsText(before, loadavg())}` };
  });
  return section ?? { name: 'redis', text: 'Redis: stopped', results: [] };
}

async function start(owner: BenchProcess, other: OtherBuild | undefined): Promise<readonly Contender[]> {
  const directory = owner.directory();
  const ours = async (nodes: number, port: number, build?: OtherBuild): Promise<Contender> => {
    const title = nodes === 1 ? 'one node' : 'three nodes';
    const name = build === undefined ? `lockstep, ${title}` : `lockstep ${build.name}, ${title}`;
    progress(`starting ${name}`);
    const cluster = await LocalCluster.start(join(directory, `nodes-${port}`), port, {
      form: { nodes, racks: nodes },
      began: (child: ChildProcess) => owner.add(child, 'SIGINT'),
      dist: build?.dist,
    });
    const ports = cluster.pids.map((_, node) => cluster.redisPort(node));
    for (const one of ports) await untilOpen(one);
    return { name, ports, pids: cluster.pids };
  };
  const contenders = [await ours(1, basePort), await ours(3, basePort + 300)];
  if (other !== undefined) {
    contenders.push(await ours(1, basePort + otherPorts, other));
    contenders.push(await ours(3, basePort + 300 + otherPorts, other));
  }
  contenders.push(await redisServer(owner, join(directory, 'redis'), basePort + 100));
  contenders.push(await proxyBefore(owner, basePort + 100, basePort + 150));
  return contenders;
}

/** The load average of the machine before and after. */
function loadsText(before: readonly number[], after: readonly number[]): string {
  const text = (loads: readonly number[]): string => loads.map((load) => load.toFixed(1)).join(' ');
  return `load averages (1, 5, 15 min): ${text(before)} before, ${text(after)} after`;
}

/** The contenders in turns, case by case, forwards and backwards; the first round warms up and is not counted. */
async function measure(
  contenders: readonly Contender[],
  { rounds, redisRequests }: ClientsBenchOptions,
): Promise<Rounds> {
  const measured = new Map(
    contenders.map((contender) => [
      contender,
      new Map(cases.map((one): [Case, Measured] => [one, { perSecond: [], processorUs: [] }])),
    ]),
  );
  for (let round = 0; round <= rounds; round++) {
    progress(round === 0 ? 'Redis, warm-up round' : `Redis, round ${round} of ${rounds}`);
    for (const one of cases) {
      for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const before = processorSecondsOf(contender.pids);
        const perSecond = await rateOf(contender, one, redisRequests);
        const found = measured.get(contender)?.get(one);
        if (round === 0 || found === undefined) continue;
        found.perSecond.push(perSecond);
        found.processorUs.push(((processorSecondsOf(contender.pids) - before) * 1e6) / redisRequests);
      }
    }
  }
  return measured;
}

/** Requests per second, as redis-benchmark reports them: one process of it for each port, all at the same time. */
async function rateOf({ ports }: Contender, { command, pipeline }: Case, requests: number): Promise<number> {
  const rates = ports.map(async (port, index) => {
    const share = (total: number): number =>
      Math.floor((total * (index + 1)) / ports.length) - Math.floor((total * index) / ports.length);
    const load = ['-n', String(share(requests)), '-c', String(share(connections)), '-P', String(pipeline)];
    const data = ['-d', String(valueBytes), '-r', String(keyCount), '-t', command.toLowerCase()];
    const words = ['-h', '127.0.0.1', '-p', String(port), ...load, ...data, '--csv'];
    const { stdout } = await promisify(execFile)('redis-benchmark', words);
    const line = stdout.split('\n').find((one) => one.startsWith(`"${command}"`));
    return Number(line?.split(',')[1]?.replaceAll('"', '') ?? NaN);
  });
  return (await Promise.all(rates)).reduce((sum, rate) => sum + rate, 0);
}

function sectionOf(measured: Rounds): Section {
  const server = [...measured].find(([{ name }]) => name.startsWith('redis-server'))?.[1];
  const results = [...measured].flatMap(([{ name }, found]) =>
    cases.map((one) => {
      const perSecond = median(found.get(one)?.perSecond ?? []);
      const processorUs = median(found.get(one)?.processorUs ?? []);
      const ofRedis = perSecond / median(server?.get(one)?.perSecond ?? []);
      return { name, command: one.command, pipeline: one.pipeline, perSecond, ofRedis, processorUs };
    }),
  );
  const titles = cases.map(({ command, pipeline }) => `${command} P${pipeline}`);
  const tableOf = (heading: string, cell: (result: (typeof results)[number]) => string): string => {
    const rows = [...measured.keys()].map(({ name }) => [
      name,
      ...results.filter((result) => result.name === name).map(cell),
    ]);
    return table([[heading, ...titles], ...rows]);
  };
  const about = `Redis: ${connections} connections, values of ${valueBytes} bytes, ${keyCount} keys; SETs are synced first\n${machineText()}`;
  const rates = tableOf(
    'requests/s (of redis-server)',
    ({ perSecond, ofRedis }) => `${figure(perSecond)} (${ofRedis.toFixed(2)})`,
  );
  const processor = tableOf('CPU µs of all its processes', ({ processorUs }) => figure(processorUs));
  return { name: 'redis', text: `${about}\n${rates}\n\n${processor}`, results };
}
