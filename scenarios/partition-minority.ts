import type { Scenario } from '../sim/plan/scenario.ts';
import { atEveryLevel, everyLevel, invariants } from './shared.ts';

export const partitionMinority: Scenario = {
  name: 'partition-minority',
  description:
    'a minority of the nodes is partitioned away repeatedly: the majority serves, and no acknowledged write is lost',
  cluster: { datacenters: 1, racks: 5, nodesPerRack: 1 },
  load: atEveryLevel,
  levels: everyLevel,
  faults: [
    { kind: 'network-partition', count: [1, 4], forUs: [100_000, 1_500_000], sideMax: 2, always: true },
    { kind: 'one-way-partition', count: [0, 3], forUs: [100_000, 1_000_000], sideMax: 2 },
    { kind: 'connection-reset', count: [0, 6] },
    { kind: 'network-delay', count: [0, 4], forUs: [100_000, 1_500_000] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  invariants: { ...invariants, 'metrics-reconcile': 6_000, 'valid-exposition': 50 },
};
