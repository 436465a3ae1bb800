import type { Scenario } from '../sim/plan/scenario.ts';
import { atEveryLevel, everyLevel, invariants, mending } from './shared.ts';

export const partitionBetweenDcs: Scenario = {
  name: 'partition-between-dcs',
  description:
    'two datacenters are repeatedly partitioned from each other: each serves alone, and they become equal',
  cluster: { datacenters: 2, racks: 3, nodesPerRack: 1 },
  load: atEveryLevel,
  levels: everyLevel,
  faults: [
    {
      kind: 'network-partition',
      group: 'datacenter',
      count: [1, 3],
      forUs: [200_000, 3_000_000],
      always: true,
    },
    { kind: 'one-way-partition', group: 'datacenter', count: [0, 2], forUs: [100_000, 1_500_000] },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants: { ...invariants, convergence: 40, 'metrics-reconcile': 6_000 },
};
