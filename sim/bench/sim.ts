/**
 * `npm run bench sim`: first what `lockstep-sim run` achieves (`sim-catalogue.ts`), then the raw speed of the simulator
 * on one core, with five nodes and faults and nothing judged: events and client operations per second of real time, and
 * virtual time per real time. Runs as `lockstep-sim run` does: on a thread of the pool,
 * one after another.
 *
 * An engine event is an event of the world's agenda that ran code of a node: a delivery, a disk completion, a timer.
 * The total also contains events that run the clients' code, and events that run neither (bytes that wait for a blocked
 * link).
 */
import { present } from '../../engine/base/assert.ts';
import { generatePlan } from '../plan/plan-generation.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import type { RunResult } from '../runner/result.ts';
import type { Task } from '../runner/task.ts';
import type { Scenario } from '../plan/scenario.ts';
import { figure, median, table } from './figures.ts';
import { progress } from './bench-process.ts';
import type { CatalogueOptions } from './sim-catalogue.ts';
import { catalogueTable, measureCatalogue } from './sim-catalogue.ts';

/** Five nodes in five racks, every fault kind, and a load without pauses. */
const scenario: Scenario = {
  name: 'bench',
  description: 'a busy cluster of five under every fault',
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
    malformedInput: [0, 0],
    scrapes: [2, 2],
  },
  faults: [
    { kind: 'network-delay', count: [2, 2], forUs: [100_000, 500_000], always: true },
    { kind: 'network-partition', count: [2, 2], forUs: [100_000, 500_000], sideMax: 2, always: true },
    { kind: 'one-way-partition', count: [1, 1], forUs: [100_000, 500_000], sideMax: 2, always: true },
    { kind: 'connection-reset', count: [4, 4], always: true },
    { kind: 'process-crash', count: [1, 1], forUs: [100_000, 500_000], always: true },
    { kind: 'power-loss', count: [1, 1], forUs: [100_000, 500_000], always: true },
    { kind: 'torn-write', count: [1, 1], forUs: [100_000, 500_000], always: true },
  ],
  stormMs: 5_000,
  calmMs: 500,
  settleMsMax: 20_000,
  invariants: {},
};

/** Number of rounds and form of the output. */
export interface SimBenchOptions extends CatalogueOptions {
  /** Rounds of the raw measurement. */
  readonly rounds: number;
  /** Whether the raw speed is measured too. */
  readonly raw: boolean;
  readonly json: boolean;
}

/** Rates per second of real time; processor time depends less on what else the machine is doing. */
interface Round {
  readonly engineEventsPerSecond: number;
  readonly engineEventsPerCpuSecond: number;
  readonly eventsPerSecond: number;
  readonly operationsPerSecond: number;
  readonly virtualOverReal: number;
}

/**
 * Runs that are not counted: some fifteen runs pass until the code is compiled, each a little faster than the one
 * before, while a thread that runs seeds runs hundreds.
 */
const warmUpRuns = 15;

/** Runs the benchmark and prints its table, or one line of JSON. */
export async function run({ rounds, raw: wantsRaw, json, ...options }: SimBenchOptions): Promise<void> {
  const catalogue = await measureCatalogue(options);
  const raw = wantsRaw ? await measureRaw(rounds) : [];
  const tables = [catalogueTable(catalogue), ...(raw.length === 0 ? [] : [tableOf(raw)])];
  process.stdout.write(`${json ? JSON.stringify({ catalogue, raw }) : tables.join('\n\n')}\n`);
}

async function measureRaw(rounds: number): Promise<readonly Round[]> {
  const pool = new Pool(buildDirectory, 1);
  const measured: Round[] = [];
  for (let seed = 0; seed < warmUpRuns + rounds; seed++) {
    const round = await measure(pool, seed);
    const place =
      seed < warmUpRuns
        ? `warm-up ${seed + 1} of ${warmUpRuns}`
        : `round ${seed + 1 - warmUpRuns} of ${rounds}`;
    progress(`${place}: ${figure(round.engineEventsPerSecond)} engine events/s`);
    if (seed >= warmUpRuns) measured.push(round);
  }
  await pool.close();
  return measured;
}

function tableOf(rounds: readonly Round[]): string {
  return table([
    ['five nodes, faults on, one core', 'median', 'least'],
    row('engine events/s (events that ran code of a node)', rounds, (one) => one.engineEventsPerSecond),
    row('the same per second of processor time', rounds, (one) => one.engineEventsPerCpuSecond),
    row('all events of the agenda/s', rounds, (one) => one.eventsPerSecond),
    row('client operations/s', rounds, (one) => one.operationsPerSecond),
    row('virtual time / real time', rounds, (one) => one.virtualOverReal),
  ]);
}

/** One run in real time. */
async function measure(pool: Pool, seed: number): Promise<Round> {
  const task: Task = { kind: 'plan', plan: generatePlan(scenario, seed) };
  const results: RunResult[] = [];
  const startCpu = process.cpuUsage();
  await pool.performAll([task].values(), (_, answer) => {
    if (answer.kind === 'ran') results.push(answer.result);
  });
  const { user, system } = process.cpuUsage(startCpu);
  const { events, nodeEvents, outcomes, virtualUs, wallMs } = present(results[0], 'a result');
  const seconds = wallMs / 1000;
  return {
    engineEventsPerSecond: nodeEvents / seconds,
    engineEventsPerCpuSecond: nodeEvents / ((user + system) / 1_000_000),
    eventsPerSecond: events / seconds,
    operationsPerSecond: (outcomes.ok + outcomes.fail + outcomes.unknown) / seconds,
    virtualOverReal: virtualUs / 1_000_000 / seconds,
  };
}

function row(name: string, rounds: readonly Round[], of: (one: Round) => number): readonly string[] {
  const values = rounds.map(of);
  return [name, figure(median(values)), figure(Math.min(...values))];
}
