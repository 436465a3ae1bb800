import type { Scenario } from '../sim/plan/scenario.ts';
import { redisLoad } from './redis-shared.ts';
import { everyday, invariants } from './shared.ts';

export const unauthenticatedClients: Scenario = {
  name: 'unauthenticated-clients',
  description:
    'clients without sufficient credentials, also such as are limited to other buckets or to a rate, send requests to every listener while nodes crash and other clients work: all are refused and have no effect',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, operations: [120, 180] },
  redis: { ...redisLoad, clients: 2, operations: [30, 60], counters: 2, kinds: { incr: 70, read: 30 } },
  faults: [
    { kind: 'unauthorized-request', count: [30, 60], always: true },
    { kind: 'process-crash', count: [1, 3], forUs: [100_000, 1_200_000], always: true },
    { kind: 'network-partition', count: [0, 1], forUs: [200_000, 1_000_000], sideMax: 1 },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 800_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  settings: { credentials: 'world' },
  invariants: { ...invariants, 'exactly-once': 20, 'access-control': 10 },
};
