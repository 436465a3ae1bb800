import type { Scenario } from '../sim/plan/scenario.ts';
import { fewer, invariantsBesideRedis, redisLoad } from './redis-shared.ts';
import { mending } from './shared.ts';

export const redisCounters: Scenario = {
  name: 'redis-counters',
  description:
    'Redis clients increment the same counters while nodes are partitioned away and crash: each acknowledged increment counts once',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: fewer,
  redis: {
    ...redisLoad,
    operations: [220, 320],
    counters: 3,
    kinds: { incr: 80, read: 20 },
  },
  faults: [
    { kind: 'network-partition', count: [1, 2], forUs: [100_000, 800_000], sideMax: 1, always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 800_000] },
    { kind: 'power-loss', count: [0, 2], forUs: [100_000, 800_000], choices: { keeps: ['nothing', 'some'] } },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 700_000] },
    { kind: 'connection-reset', count: [0, 6] },
    { kind: 'process-pause', count: [0, 2], forUs: [50_000, 400_000] },
    { kind: 'client-disconnect', count: [2, 10], params: { afterUs: [0, 5_000] } },
    { kind: 'hot-key', count: [1, 2] },
    { kind: 'slow-reader', count: [1, 2], forUs: [100_000, 600_000] },
    {
      kind: 'stream-fragmentation',
      count: [1, 2],
      forUs: [200_000, 1_500_000],
      targets: ['r0', 'r1', 'r2', 'c0'],
    },
  ],
  stormMs: 3_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: mending,
  invariants: { ...invariantsBesideRedis, 'exactly-once': 60, causality: 100 },
};
