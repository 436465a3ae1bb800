/**
 * `npm run bench -- clusters`: the cost of clusters of 3 to 100 nodes in the world. Measures gossip per node and
 * interval, processor time until all nodes have found each other, and virtual time per processor time in calm. Also a
 * whole calm scenario of a hundred nodes, as `lockstep-sim run` judges it: clients, checks, start and stop included.
 */
import process from 'node:process';

import { present } from '../../engine/base/assert.ts';
import { familiesOf } from '../../engine/metrics/snapshot-families.ts';
import { everyday } from '../../scenarios/shared.ts';
import { generatePlan, nodesOf } from '../plan/plan-generation.ts';
import { judgePlan } from '../runner/task.ts';
import type { Scenario } from '../plan/scenario.ts';
import { Cluster } from '../world/cluster/cluster.ts';
import { World } from '../world/world.ts';
import { figure, median, table } from './figures.ts';

/** Number of rounds and form of the output. */
export interface ClustersBenchOptions {
  readonly rounds: number;
  readonly json: boolean;
}

const sizes: readonly number[] = [3, 10, 30, 100];

/** Two datacenters of five racks with ten nodes each; no faults. */
const hundred: Scenario = {
  name: 'calm-hundred',
  description: 'nothing goes wrong among a hundred nodes',
  cluster: { datacenters: 2, racks: 5, nodesPerRack: 10 },
  load: { ...everyday, thinkUs: [0, 900_000], malformedInput: [0, 0] },
  faults: [],
  stormMs: 25_000,
  calmMs: 1_000,
  settleMsMax: 20_000,
  invariants: {
    durability: 150,
    'durable-before-ack': 10,
    causality: 300,
    convergence: 60,
    'session-guarantees': 20,
    liveness: 50,
    'no-silent-failures': 100,
  },
};

/** Runs the benchmark and prints its tables, or one line of JSON. */
export async function run({ rounds, json }: ClustersBenchOptions): Promise<void> {
  const clusters: ClusterFigures[] = [];
  for (const size of sizes) clusters.push(await measureCluster(size));
  const runs: ScenarioFigures[] = [];
  for (let seed = 1; seed <= rounds; seed++) runs.push(await measureScenario(seed));
  console.log(
    json ? JSON.stringify({ clusters, runs }) : `${clusterTable(clusters)}\n\n${scenarioTable(runs)}`,
  );
}

interface ClusterFigures {
  readonly nodes: number;
  /** Gossip messages per node and interval. */
  readonly gossipMessages: number;
  readonly gossipBytes: number;
  /**
   * Seconds of processor time until all nodes have started and found each other; then virtual seconds per second of it.
   */
  readonly startCpuSeconds: number;
  readonly timesRealTime: number;
}

/** Starts a cluster without faults and lets it gossip for some seconds. */
async function measureCluster(size: number): Promise<ClusterFigures> {
  const world = new World({ seed: `gossip/${size}` });
  const shape = { datacenters: 1, racks: 3, nodesPerRack: Math.ceil(size / 3) };
  const cluster = new Cluster(world, nodesOf(shape).slice(0, size), {});
  for (const name of cluster.members) cluster.start(name);
  const settleUs = 15_000_000;
  const started = process.cpuUsage();
  await world.run({ untilUs: settleUs });
  const startCpuSeconds = cpuSecondsSince(started);
  const before = gossipOf(cluster);
  const seconds = 10;
  const calm = process.cpuUsage();
  await world.run({ untilUs: settleUs + seconds * 1_000_000 });
  const after = gossipOf(cluster);
  return {
    nodes: size,
    gossipMessages: (after.messages - before.messages) / size / seconds,
    gossipBytes: (after.bytes - before.bytes) / size / seconds,
    startCpuSeconds,
    timesRealTime: seconds / cpuSecondsSince(calm),
  };
}

function cpuSecondsSince(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1_000_000;
}

function gossipOf(cluster: Cluster): { readonly messages: number; readonly bytes: number } {
  let messages = 0;
  let bytes = 0;
  for (const name of cluster.members) {
    const snapshot = cluster.statistics(name);
    if (snapshot === undefined) continue;
    for (const { family, samples } of familiesOf(snapshot)) {
      const sum = samples.reduce((total, { value }) => total + value, 0);
      if (family.name === 'svc_gossip_messages_total') messages += sum;
      if (family.name === 'svc_gossip_bytes_total') bytes += sum;
    }
  }
  return { messages, bytes };
}

interface ScenarioFigures {
  readonly verdict: string;
  readonly virtualSeconds: number;
  readonly cpuSeconds: number;
}

async function measureScenario(seed: number): Promise<ScenarioFigures> {
  const plan = generatePlan(hundred, seed);
  const begun = process.cpuUsage();
  const { verdict, virtualUs } = await judgePlan(plan, () => 0);
  return { verdict, virtualSeconds: virtualUs / 1_000_000, cpuSeconds: cpuSecondsSince(begun) };
}

function clusterTable(clusters: readonly ClusterFigures[]): string {
  return table([
    ['calm cluster, per node and second', 'messages', 'bytes', 'first 15 s, CPU s', 'then x real time'],
    ...clusters.map(({ nodes, gossipMessages, gossipBytes, startCpuSeconds, timesRealTime }) => [
      `${nodes} nodes`,
      figure(gossipMessages),
      figure(gossipBytes),
      figure(startCpuSeconds),
      figure(timesRealTime),
    ]),
  ]);
}

function scenarioTable(runs: readonly ScenarioFigures[]): string {
  const { verdict } = runs.find((one) => one.verdict !== 'passed') ?? present(runs[0], 'a run');
  const middle = (of: (one: ScenarioFigures) => number): string => figure(median(runs.map(of)));
  return table([
    [
      'a calm scenario of 100 nodes, with its clients and checks',
      'verdict',
      'virtual s',
      'CPU s',
      'x real time',
    ],
    [
      `median of ${runs.length}`,
      verdict,
      middle((one) => one.virtualSeconds),
      middle((one) => one.cpuSeconds),
      middle((one) => one.virtualSeconds / one.cpuSeconds),
    ],
  ]);
}
