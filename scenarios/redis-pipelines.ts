import fc from 'fast-check';

import type { Scenario } from '../sim/plan/scenario.ts';
import { fewer, invariantsBesideRedis, redisLoad } from './redis-shared.ts';
import { mending, transactionSettings } from './shared.ts';

/** The form with one datacenter; `redis-pipelines-hinted` has its clients. */
export const pipelinesFrame: Scenario = {
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
    {
      kind: 'write-error',
      count: [1, 3],
      forUs: [100_000, 600_000],
      params: { oneIn: [1, 4] },
      choices: { role: ['log'] },
    },
    {
      kind: 'sync-error',
      count: [1, 3],
      forUs: [100_000, 600_000],
      params: { oneIn: [1, 4] },
      choices: { role: ['log'] },
    },
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

/** Clients of both datacenters change the same keys, so each write waits for a majority in each. */
const across: Scenario = {
  ...pipelinesFrame,
  cluster: { datacenters: 2, racks: 3, nodesPerRack: 1 },
  settings: { ...pipelinesFrame.settings, write_consistency: 'DC_EACH_SAFE_QUORUM' },
};

/** One seed in four has two datacenters. */
export const redisPipelines: Scenario = {
  ...pipelinesFrame,
  drawn: fc.constantFrom(pipelinesFrame, pipelinesFrame, pipelinesFrame, across),
};
