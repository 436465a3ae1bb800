import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const slowDiskFillsQueue: Scenario = {
  name: 'slow-disk-fills-queue',
  description:
    "disks become slow: the store's queue fills, further writes are refused and counted, and other replicas answer",
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, clients: 12, operations: [400, 600], thinkUs: [0, 3_000], keys: 60, siblingKeys: 20 },
  faults: [
    {
      kind: 'slow-disk',
      count: [1, 3],
      forUs: [800_000, 1_500_000],
      atUs: [0, 100_000],
      params: { meanUs: [20_000, 100_000], tailUs: [0, 300_000] },
      always: true,
    },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 800_000] },
  ],
  stormMs: 2_500,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: { ...mending, store_queue_count_max: 16 },
  invariants,
};
