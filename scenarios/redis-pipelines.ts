import fc from 'fast-check';

import type { Scenario } from '../sim/plan/scenario.ts';
import { fewer, invariantsBesideRedis, redisLoad } from './redis-shared.ts';
import { mending, transactionSettings } from './shared.ts';

const frame: Scenario = {
  name: 'redis-pipelines',
  description:
    'Redis clients send pipelines through all nodes, whose clocks differ, amid partitions, crashes, pauses, power losses and disk errors: commands on a key keep their order, an acknowledged value is on as many disks as the level names and is not lost, no refused one is seen',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...fewer, operations: [20, 40] },
  redis: { ...redisLoad, clients: 6, operations: [90, 130], thinkUs: [0, 60_000], kinds: { pipeline: 1 } },
  faults: [
    {
      kind: 'network-partition',
      count: [1, 3],
      forUs: [100_000, 600_000],
      sideMax: 1,
    },
    { kind: 'one-way-partition', count: [0, 2], forUs: [100_000, 500_000] },
    // What a node has missed is what it must not write below.
    {
      kind: 'message-loss',
      count: [1, 2],
      forUs: [600_000, 2_000_000],
      params: { oneIn: [3, 8] },
      always: true,
    },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 600_000] },
    { kind: 'power-loss', count: [0, 2], forUs: [100_000, 600_000], choices: { keeps: ['nothing', 'some'] } },
    { kind: 'process-pause', count: [0, 2], forUs: [50_000, 500_000] },
    {
      kind: 'slow-disk',
      count: [0, 2],
      forUs: [200_000, 800_000],
      params: { meanUs: [2_000, 20_000], tailUs: [0, 100_000] },
    },
    // Of commands that are stored together, some fail, or all.
    ...(['write-error', 'sync-error'] as const).map((kind) => ({
      kind,
      count: [1, 3] as const,
      forUs: [100_000, 600_000] as const,
      params: { oneIn: [1, 4] as const },
      choices: { role: ['log'] },
    })),
    // A node whose clock is behind writes values that count as older than those it has missed.
    {
      kind: 'clock-skew',
      count: [1, 2],
      atUs: [0, 500_000],
      params: { offsetMs: [-3_000, 3_000] },
      always: true,
    },
    { kind: 'clock-jump', count: [0, 2], params: { byMs: [-20_000, 20_000] } },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 700_000] },
    { kind: 'connection-reset', count: [0, 6] },
  ],
  stormMs: 3_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: {
    ...mending,
    ...transactionSettings,
    read_consistency: 'DC_QUORUM',
    write_consistency: 'DC_QUORUM',
  },
  invariants: { ...invariantsBesideRedis, durability: 5, 'session-guarantees': 300 },
};

const hintsAlone: NonNullable<Scenario['settings']> = {
  aae_tick_interval_seconds: 60,
  read_repair_percent: 0,
  request_timeout_ms: 700,
};

/**
 * The nodes and their disks work, and nothing but hints and reads mends: whatever a coordinator knows that a replica lacks, it must
 * write down.
 */
const onlyCut: Scenario = {
  ...frame,
  load: { ...fewer, operations: [70, 90] },
  settings: { ...frame.settings, ...hintsAlone },
  faults: [
    ...frame.faults.filter(
      ({ kind }) => !['process-pause', 'slow-disk', 'write-error', 'sync-error'].includes(kind),
    ),
    // Longer than a request may take, and shorter than the others need to regard the node as down.
    {
      kind: 'network-partition',
      count: [3, 5],
      forUs: [900_000, 1_400_000],
      sideMax: 1,
      always: true,
    },
  ],
};

/** One node refuses writes again and again while another is late: neither counts, and the third counts and hints both. */
const oneRefuses: Scenario = {
  ...onlyCut,
  faults: [
    ...frame.faults.filter(({ kind }) => kind === 'clock-skew' || kind === 'connection-reset'),
    { kind: 'process-crash', targets: ['n3'], count: [0, 1], forUs: [100_000, 300_000] },
    ...(['write-error', 'sync-error'] as const).map((kind) => ({
      kind,
      targets: ['n3'],
      count: [3, 5] as const,
      forUs: [60_000, 200_000] as const,
      params: { oneIn: [1, 2] as const },
      choices: { role: ['log'] },
      always: true,
    })),
    {
      kind: 'slow-disk',
      targets: ['n2'],
      count: [2, 3],
      forUs: [800_000, 2_000_000],
      params: { meanUs: [10_000, 40_000], tailUs: [0, 100_000] },
      always: true,
    },
  ],
};

/** Clients of both datacenters change the same keys, so each write waits for a majority in each. */
const across: Scenario = {
  ...frame,
  cluster: { datacenters: 2, racks: 3, nodesPerRack: 1 },
  settings: { ...frame.settings, write_consistency: 'DC_EACH_SAFE_QUORUM' },
};

/** One seed in six has two datacenters; in two thirds of the seeds most coordinators are free to write their hints. */
export const redisPipelines: Scenario = {
  ...frame,
  drawn: fc.constantFrom(frame, onlyCut, onlyCut, oneRefuses, oneRefuses, across),
};
