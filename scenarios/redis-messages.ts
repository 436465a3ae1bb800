import fc from 'fast-check';

import type { Scenario } from '../sim/plan/scenario.ts';
import { fewer, invariantsBesideRedis, redisLoad } from './redis-shared.ts';
import { mending, transactionSettings } from './shared.ts';

const frame: Scenario = {
  name: 'redis-messages',
  description:
    'Redis clients publish and subscribe through all nodes, some without reading, amid partitions, crashes and messages that are lost or doubled: each message comes at most once, in order, to its subscribers alone',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...fewer, operations: [10, 20] },
  redis: {
    ...redisLoad,
    clients: 8,
    operations: [180, 240],
    thinkUs: [0, 30_000],
    kinds: { publish: 80, listen: 20 },
  },
  faults: [
    { kind: 'network-partition', count: [1, 2], forUs: [100_000, 800_000], sideMax: 1 },
    { kind: 'one-way-partition', count: [0, 2], forUs: [100_000, 600_000] },
    { kind: 'message-loss', count: [0, 2], forUs: [200_000, 1_000_000], params: { oneIn: [3, 8] } },
    { kind: 'message-duplication', count: [1, 3], forUs: [400_000, 2_000_000], always: true },
    { kind: 'message-replay', count: [0, 2], forUs: [200_000, 1_500_000] },
    { kind: 'message-reordering', count: [0, 2], forUs: [200_000, 1_500_000] },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 600_000] },
    { kind: 'process-pause', count: [0, 2], forUs: [50_000, 400_000] },
    { kind: 'graceful-restart', count: [0, 1], forUs: [100_000, 400_000] },
    { kind: 'node-standby', count: [0, 1], forUs: [200_000, 800_000] },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 700_000] },
    { kind: 'connection-reset', count: [0, 6] },
    { kind: 'client-disconnect', count: [0, 6], params: { afterUs: [0, 5_000] } },
  ],
  stormMs: 3_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: { ...mending, ...transactionSettings, redis_subscriber_bytes_max: 4_096 },
  invariants: {
    ...invariantsBesideRedis,
    durability: 0,
    'durable-before-ack': 0,
    causality: 0,
    messages: 300,
  },
};

/** Every message must arrive, and every count must be right. */
const calm: Scenario = { ...frame, faults: [] };

const across: Scenario = { ...frame, cluster: { datacenters: 2, racks: 2, nodesPerRack: 1 } };

/** One seed in four has no faults; one in four has two datacenters. */
export const redisMessages: Scenario = {
  ...frame,
  drawn: fc.constantFrom(frame, frame, calm, across),
};
