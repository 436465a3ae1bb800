import type { Scenario } from '../sim/plan/scenario.ts';
import { fewer, invariantsBesideRedis, redisLoad } from './redis-shared.ts';
import { onTheMove } from './shared.ts';

export const flushUnderFaults: Scenario = {
  name: 'flush-under-faults',
  description:
    'Redis clients flush a database while others set, count and read in it, alone and in transactions, amid crashes, power losses, partitions, clock jumps, a join and a leave: nothing that was flushed comes back, nothing else is lost, and no transaction is halved',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r1' }],
  },
  load: fewer,
  redis: { ...redisLoad, operations: [240, 360], kinds: { database: 97, flushall: 3 } },
  faults: [
    { kind: 'network-partition', count: [0, 2], forUs: [100_000, 900_000], sideMax: 1, always: true },
    { kind: 'process-crash', count: [0, 3], forUs: [100_000, 900_000] },
    { kind: 'power-loss', count: [0, 2], forUs: [100_000, 700_000], choices: { keeps: ['nothing', 'some'] } },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 700_000] },
    { kind: 'connection-reset', count: [0, 4] },
    { kind: 'clock-jump', count: [0, 2] },
    { kind: 'membership-change', count: [0, 1], targets: ['n4'], atUs: [300_000, 1_500_000] },
    { kind: 'membership-change', count: [0, 1], targets: ['n1'], atUs: [4_000_000, 5_000_000] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: { ...onTheMove, transaction_inquiry_ms: 250 },
  invariants: { ...invariantsBesideRedis, 'session-guarantees': 100 },
};
