/**
 * `npm run bench sim`: how fast the simulator is on one core, with five nodes and faults on: engine events and client
 * operations per second of real time, and how much faster than real time the virtual clock runs.
 */
import { generatePlan } from '../plan/plan-generation.ts';
import { runPlan } from '../run/run.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { figure, median, table } from './figures.ts';

/** Five nodes in five racks, every fault kind, and a load without pauses. */
const scenario: Scenario = {
  name: 'bench',
  story: 'a busy cluster of five under every fault',
  cluster: { datacenters: 1, racks: 5, nodesPerRack: 1 },
  load: {
    clients: 16,
    operations: [6000, 6000],
    keys: 500,
    siblingKeys: 100,
    thinkUs: [0, 1000],
    valueBytes: [100, 100],
    kinds: { get: 50, put: 50 },
    needs: { quorum: 1 },
    garbage: [0, 0],
    scrapes: [2, 2],
  },
  faults: [
    { kind: 'FN1', count: [2, 2], forUs: [100_000, 500_000], always: true },
    { kind: 'FN8', count: [2, 2], forUs: [100_000, 500_000], sideMax: 2, always: true },
    { kind: 'FN9', count: [1, 1], forUs: [100_000, 500_000], sideMax: 2, always: true },
    { kind: 'FN11', count: [4, 4], always: true },
    { kind: 'FP1', count: [1, 1], forUs: [100_000, 500_000], always: true },
    { kind: 'FD6', count: [1, 1], forUs: [100_000, 500_000], always: true },
    { kind: 'FD7', count: [1, 1], forUs: [100_000, 500_000], always: true },
  ],
  stormMs: 5_000,
  calmMs: 500,
  settleMsMax: 20_000,
  invariants: {},
};

export interface SimBenchOptions {
  readonly rounds: number;
  readonly json: boolean;
}

/** Per second of real time; `eventsPerCpuSecond` does not suffer from what else the machine is doing. */
interface Round {
  readonly eventsPerSecond: number;
  readonly eventsPerCpuSecond: number;
  readonly operationsPerSecond: number;
  readonly virtualOverReal: number;
}

/** Runs that do not count: the code is still being compiled, and a thread that tries seeds runs hundreds. */
const warmUpRuns = 3;

/** Runs the benchmark and prints its table, or one line of JSON. */
export async function run({ rounds, json }: SimBenchOptions): Promise<void> {
  for (let seed = 0; seed < warmUpRuns; seed++) await measure(seed);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) measured.push(await measure(warmUpRuns + round));
  process.stdout.write(`${json ? JSON.stringify(measured) : tableOf(measured)}\n`);
}

function tableOf(rounds: readonly Round[]): string {
  return table([
    ['five nodes, faults on, one core', 'median', 'least'],
    row('events/s', rounds, (one) => one.eventsPerSecond),
    row('events/s of processor time', rounds, (one) => one.eventsPerCpuSecond),
    row('client operations/s', rounds, (one) => one.operationsPerSecond),
    row('virtual time / real time', rounds, (one) => one.virtualOverReal),
  ]);
}

/** One run in real time. */
async function measure(seed: number): Promise<Round> {
  const plan = generatePlan(scenario, seed);
  const startMs = performance.now();
  const startCpu = process.cpuUsage();
  const { events, history, virtualUs } = await runPlan(plan);
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  return {
    eventsPerSecond: events / seconds,
    eventsPerCpuSecond: events / ((user + system) / 1_000_000),
    operationsPerSecond: history.length / seconds,
    virtualOverReal: virtualUs / 1_000_000 / seconds,
  };
}

function row(name: string, rounds: readonly Round[], of: (one: Round) => number): readonly string[] {
  const values = rounds.map(of);
  return [name, figure(median(values)), figure(Math.min(...values))];
}
