import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const seedsDownAtBoot: Scenario = {
  name: 'seeds-down-at-boot',
  description:
    'all nodes crash, and some start while the others are still down: they serve once a quorum is up',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, thinkUs: [0, 100_000] },
  faults: [
    { kind: 'seeds-down', count: [1, 2], forUs: [200_000, 3_000_000], always: true },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 7_000,
  calmMs: 4_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: mending,
  // While all nodes are down, none can be scraped: up to 6 of the 7 seconds.
  invariants: { ...invariants, durability: 40, 'resource-bounds': 100, 'metrics-reconcile': 1_500 },
};
