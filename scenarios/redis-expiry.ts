import type { Scenario } from '../sim/plan/scenario.ts';
import { fewer, invariantsBesideRedis, redisLoad } from './redis-shared.ts';
import { mending } from './shared.ts';

export const redisExpiry: Scenario = {
  name: 'redis-expiry',
  description:
    'clients write and read values that expire through nodes whose clocks differ and which crash and are partitioned away: each is gone everywhere in time, and not before',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: fewer,
  redis: {
    ...redisLoad,
    operations: [220, 320],
    expiring: 60,
    ttlMs: [200, 2_500],
    kinds: { mortal: 35, look: 65 },
  },
  faults: [
    { kind: 'network-partition', count: [1, 2], forUs: [100_000, 800_000], sideMax: 1, always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 800_000] },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 700_000] },
    { kind: 'connection-reset', count: [0, 6] },
  ],
  stormMs: 3_000,
  calmMs: 4_000,
  settleMsMax: 30_000,
  settings: mending,
  invariants: { ...invariantsBesideRedis, 'session-guarantees': 60 },
};
