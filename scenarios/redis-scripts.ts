import type { Scenario } from '../sim/plan/scenario.ts';
import { fewer, invariantsBesideRedis, redisLoad } from './redis-shared.ts';
import { mending } from './shared.ts';

export const redisScripts: Scenario = {
  name: 'redis-scripts',
  description:
    'Redis clients move amounts and count by Lua scripts, a few of which never end, while nodes are partitioned away, crash and lose power: each script counts once or not at all, and an endless one leaves nothing',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  load: fewer,
  redis: {
    ...redisLoad,
    operations: [120, 180],
    counters: 2,
    accounts: 4,
    kinds: { script: 60, incr: 10, snapshot: 20, read: 10 },
  },
  faults: [
    { kind: 'network-partition', count: [1, 2], forUs: [100_000, 700_000], sideMax: 1, always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 700_000] },
    { kind: 'power-loss', count: [0, 2], forUs: [100_000, 700_000], choices: { keeps: ['nothing', 'some'] } },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 700_000] },
    { kind: 'connection-reset', count: [0, 6] },
  ],
  stormMs: 3_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: { ...mending, transaction_inquiry_ms: 250 },
  invariants: { ...invariantsBesideRedis, 'exactly-once': 40 },
};
