import type { Scenario } from '../sim/plan/scenario.ts';
import { fewer, invariantsBesideRedis, redisLoad } from './redis-shared.ts';
import { mending } from './shared.ts';

export const backupsOfRedisKeys: Scenario = {
  name: 'backups-of-redis-keys',
  description:
    'an operator takes backups while Redis clients count, move amounts, watch keys and write values that expire, and branches wait for decisions that are durable: each backup holds every key and its expiry at one moment',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: fewer,
  redis: {
    ...redisLoad,
    clients: 6,
    operations: [180, 240],
    counters: 2,
    accounts: 4,
    expiring: 12,
    ttlMs: [300, 6_000],
    thinkUs: [0, 20_000],
    kinds: { watched: 50, incr: 10, transfer: 15, mortal: 25 },
  },
  backups: [8, 12],
  faults: [
    // Branches wait for a decision that is durable as the backup is taken.
    {
      kind: 'network-partition',
      count: [3, 5],
      forUs: [100_000, 500_000],
      sideMax: 1,
      after: { event: 'xa.c.decision.synced', nth: [1, 40], delayUs: [0, 0] },
      always: true,
    },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 400_000] },
    { kind: 'power-loss', count: [0, 2], forUs: [50_000, 400_000] },
    { kind: 'network-delay', count: [1, 3], forUs: [200_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: { ...mending, transaction_inquiry_ms: 250 },
  invariants: { ...invariantsBesideRedis, 'exactly-once': 20, 'backup-consistency': 40 },
};
