/**
 * `npm run bench cores`: what more than one node a machine brings. Three racks stand for three machines, and each holds
 * one, two or four nodes. Measured is the processor time of a request on all nodes together, and how much of it runs on
 * the node's one thread of JavaScript: that thread bounds a node. A model then says what machines of more cores serve.
 *
 * This machine has too few cores to see the rate itself grow, and clients share them: rates are not printed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { BenchProcess } from './bench-process.ts';
import { figure, median, table } from './figures.ts';
import type { Conversation } from './load/closed-loop.ts';
import { closedLoop } from './load/closed-loop.ts';
import type { KeySpace } from './load/conversations.ts';
import { pbFill, pbGet, pbPut } from './load/conversations.ts';
import { threadNanoseconds } from './processor-time.ts';
import { LocalCluster } from './servers/local-cluster.ts';

/** Size of the load; `seconds` per round. */
export interface CoresBenchOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly valueBytes: number;
  /** Cores of the machines that the model is asked about. */
  readonly cores: number;
  readonly json: boolean;
}

const racks = 3;
/** Nodes on each machine. */
const sizes = [1, 2, 4];
const basePort = 14_698;
/** Ports between those of two clusters. */
const clusterPorts = 200;
const idleSeconds = 3;
/**
 * How long a cluster is under load before it is measured, for each of its nodes: a node's code is compiled well only
 * after some seconds of processor time, and all nodes share this machine's cores.
 */
const warmSecondsPerNode = 3;
const fillSecondsMax = 120;

const requests: readonly { readonly name: string; readonly make: typeof pbPut }[] = [
  { name: 'put', make: pbPut },
  { name: 'get', make: pbGet },
];

/** Processor time since some moment, in seconds: of all threads of all nodes, and of their main threads. */
interface Spent {
  readonly all: number;
  readonly main: number;
}

/** One cluster and kind of request. */
export interface CoresFigures {
  readonly request: string;
  readonly nodesPerMachine: number;
  /** Milliseconds of processor time of all nodes for 1,000 requests, without what they take when idle. */
  readonly processorMsPer1000: number;
  /** The share of it on main threads. */
  readonly mainShare: number;
}

/** What the model says of three machines. */
export interface CoresModel {
  readonly request: string;
  readonly nodesPerMachine: number;
  readonly requestsPerSecond: number;
  /** True: the nodes' main threads are full before the cores are. */
  readonly boundByThreads: boolean;
}

/** Runs the benchmark. */
export async function run(options: CoresBenchOptions): Promise<void> {
  await BenchProcess.run(async (owner) => {
    const directory = owner.directory();
    const clusters: LocalCluster[] = [];
    for (const [index, size] of sizes.entries()) {
      progress(`three machines with ${size} of the nodes each`);
      const cluster = await LocalCluster.start(
        join(directory, `nodes-${size}`),
        basePort + index * clusterPorts,
        { form: { nodes: racks * size, racks }, began: (child) => owner.add(child, 'SIGINT') },
      );
      clusters.push(cluster);
      await fill(cluster, spaceOf(options), options.connections);
    }
    report(await measureAll(clusters, options), options);
  });
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function spaceOf({ valueBytes }: CoresBenchOptions): KeySpace {
  return { prefix: 'k', keys: 10_000, valueBytes };
}

async function fill(cluster: LocalCluster, space: KeySpace, connections: number): Promise<void> {
  const make = (index: number): Conversation => pbFill(space, index, connections);
  const { operations } = await closedLoop(cluster.endpoints, connections, fillSecondsMax, make);
  if (operations < space.keys)
    throw new Error(`${operations} of ${space.keys} keys were put before the rounds`);
}

async function measureAll(
  clusters: readonly LocalCluster[],
  options: CoresBenchOptions,
): Promise<readonly CoresFigures[]> {
  const figures: CoresFigures[] = [];
  for (const { name, make } of requests) {
    const rounds = sizes.map((): { readonly perRequest: number[]; readonly shares: number[] } => ({
      perRequest: [],
      shares: [],
    }));
    // Round 0 warms up, and is not counted.
    for (let round = 0; round <= options.rounds; round++) {
      for (const [index, cluster] of clusters.entries()) {
        progress(`${name}, round ${round}: ${sizes[index] ?? 0} of the nodes on each machine`);
        const idle = await spentIn(cluster, () => sleep(idleSeconds * 1000));
        let operations = 0;
        const seconds = round === 0 ? warmSecondsPerNode * cluster.pids.length : options.seconds;
        const busy = await spentIn(cluster, async () => {
          const space = spaceOf(options);
          const connections = options.connections * (sizes[index] ?? 1);
          const load = await closedLoop(cluster.endpoints, connections, seconds, (lane) => make(space, lane));
          operations = load.operations;
        });
        if (round === 0) continue;
        const all = busy.all - (idle.all * options.seconds) / idleSeconds;
        rounds[index]?.perRequest.push((all * 1e6) / Math.max(1, operations));
        rounds[index]?.shares.push(busy.main / busy.all);
      }
    }
    for (const [index, { perRequest, shares }] of rounds.entries())
      figures.push({
        request: name,
        nodesPerMachine: sizes[index] ?? 0,
        processorMsPer1000: median(perRequest),
        mainShare: median(shares),
      });
  }
  return figures;
}

async function spentIn(cluster: LocalCluster, work: () => Promise<unknown>): Promise<Spent> {
  const before = spentBy(cluster.pids);
  await work();
  const after = spentBy(cluster.pids);
  return { all: after.all - before.all, main: after.main - before.main };
}

function spentBy(pids: readonly number[]): Spent {
  let [all, main] = [0, 0];
  for (const pid of pids) {
    all += threadNanoseconds(pid) / 1e9;
    // proc(5): the thread whose id is the process's own runs JavaScript.
    main += Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e9;
  }
  return { all, main };
}

/**
 * What three machines of `cores` cores serve with 1, 2, 4 and more nodes each. Of n nodes in a rack, a request meets the
 * one that holds its key once in n times; otherwise another node does a replica's work, which costs a message more. So
 * the cost is a + b (1 - 1/n), drawn through one and four nodes. A node takes no more than its main thread allows.
 */
export function modelOf(figures: readonly CoresFigures[], cores: number): readonly CoresModel[] {
  return requests.flatMap(({ name }) => {
    const own = figures.filter(({ request }) => request === name);
    const [one, many] = [own.at(0), own.at(-1)];
    if (one === undefined || many === undefined || many === one) return [];
    const slope = (many.processorMsPer1000 - one.processorMsPer1000) / (1 - 1 / many.nodesPerMachine);
    return [1, 2, 4, 8, 16, 32]
      .filter((nodes) => nodes <= cores)
      .map((nodes) => {
        const cost = one.processorMsPer1000 + slope * (1 - 1 / nodes);
        const used = nodes / one.mainShare;
        return {
          request: name,
          nodesPerMachine: nodes,
          requestsPerSecond: (racks * Math.min(cores, used) * 1e6) / cost,
          boundByThreads: used < cores,
        };
      });
  });
}

function report(figures: readonly CoresFigures[], options: CoresBenchOptions): void {
  const model = modelOf(figures, options.cores);
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ bench: 'cores', ...options, figures, model })}\n`);
    return;
  }
  const measured = figures.map((one) => [
    `${one.request}, ${one.nodesPerMachine} a machine`,
    figure(one.processorMsPer1000),
    `${figure(one.mainShare * 100)} %`,
  ]);
  const modelled = model.map((one) => [
    `${one.request}, ${one.nodesPerMachine} a machine`,
    figure(one.requestsPerSecond),
    one.boundByThreads ? 'threads of JavaScript' : 'cores',
  ]);
  const lines = [
    `three machines (racks) on this one, ${options.connections} connections for each node of a machine, ${options.valueBytes}-byte values, median of ${options.rounds} rounds of ${options.seconds} s after one to warm up`,
    table([['measured', 'CPU ms/1,000', 'on main threads'], ...measured]),
    '',
    `model of three machines of ${options.cores} cores`,
    table([['model', 'requests/s', 'bound by'], ...modelled]),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
