import type { Scenario } from '../sim/plan/scenario.ts';
import { fewer, invariantsBesideRedis, redisLoad } from './redis-shared.ts';
import { mending } from './shared.ts';

export const redisMulti: Scenario = {
  name: 'redis-multi',
  description:
    'Redis clients move amounts by WATCH, MULTI and EXEC, and pipeline commands, while nodes are partitioned away and crash: no amount is lost or created, and replies stay in order',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  load: fewer,
  redis: {
    ...redisLoad,
    operations: [160, 240],
    accounts: 6,
    kinds: { transfer: 60, snapshot: 25, page: 15 },
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
  invariants: { ...invariantsBesideRedis, 'exactly-once': 8, 'session-guarantees': 100 },
};
