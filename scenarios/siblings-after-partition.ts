import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const siblingsAfterPartition: Scenario = {
  name: 'siblings-after-partition',
  description:
    'clients write the same keys on both sides of a partition: once it heals, every value is there, as siblings',
  cluster: { datacenters: 2, racks: 2, nodesPerRack: 1 },
  load: {
    ...everyday,
    clients: 4,
    operations: [240, 360],
    keys: 6,
    siblingKeys: 6,
    thinkUs: [0, 80_000],
    kinds: { get: 25, put: 75 },
    needs: { one: 70, quorum: 30 },
  },
  bucketChanges: [8, 14],
  faults: [
    {
      kind: 'network-partition',
      group: 'datacenter',
      count: [1, 3],
      forUs: [1_000_000, 4_000_000],
      atUs: [0, 2_000_000],
      always: true,
    },
    { kind: 'network-partition', count: [0, 2], forUs: [300_000, 1_500_000], sideMax: 2 },
  ],
  stormMs: 5_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: { ...mending, sibling_contexts: '1 2 2 6' },
  invariants: {
    ...invariants,
    durability: 30,
    convergence: 12,
    'hint-delivery': 10,
    'timestamp-accuracy': 20,
    'bucket-properties': 4,
  },
};
