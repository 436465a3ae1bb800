import type { Scenario } from '../sim/plan/scenario.ts';
import { fewer, redisLoad } from './redis-shared.ts';
import { transactionInvariants, transactionSettings, transfers } from './shared.ts';

const clients = ['c0', 'c1', 'x0', 'x1', 'x2', 'x3', 'r0', 'r1', 'r2'];

export const clientRetriesWithId: Scenario = {
  name: 'client-retries-with-id',
  description:
    'clients disconnect before an answer and retry under the same idempotency key, crowd one key, or do not read: each transaction is applied once',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...fewer,
    transactions: {
      ...transfers,
      namedPercent: 85,
      forcedPercent: 3,
      kinds: { transfer: 25, append: 25, stamp: 40, look: 10 },
    },
  },
  redis: {
    ...redisLoad,
    clients: 3,
    operations: [80, 140],
    counters: 2,
    kinds: { incr: 60, read: 15, transfer: 20, snapshot: 5 },
  },
  faults: [
    { kind: 'immediate-retry', count: [8, 20], always: true, params: { afterUs: [0, 8_000] } },
    { kind: 'client-disconnect', count: [6, 16], always: true, params: { afterUs: [0, 6_000] } },
    { kind: 'hot-key', count: [1, 3] },
    { kind: 'slow-reader', count: [1, 2], forUs: [100_000, 600_000] },
    {
      kind: 'stream-fragmentation',
      count: [1, 3],
      forUs: [200_000, 1_500_000],
      targets: clients,
      sideMax: 4,
    },
    { kind: 'connection-reset', count: [0, 6] },
    { kind: 'process-crash', count: [0, 1], forUs: [100_000, 800_000] },
    { kind: 'network-partition', count: [0, 1], forUs: [100_000, 700_000], sideMax: 1 },
  ],
  stormMs: 3_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: { ...transactionInvariants, durability: 3, 'exactly-once': 100 },
};
