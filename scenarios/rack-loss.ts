import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const rackLoss: Scenario = {
  name: 'rack-loss',
  description: 'all nodes of a rack crash at once and return: the other racks serve, and it catches up',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  load: everyday,
  faults: [
    {
      kind: 'failure-domain-outage',
      group: 'rack',
      count: [1, 1],
      forUs: [200_000, 3_000_000],
      atUs: [0, 1_500_000],
      always: true,
    },
    {
      kind: 'failure-domain-outage',
      group: 'rack',
      count: [0, 1],
      forUs: [200_000, 1_500_000],
      atUs: [5_000_000, 6_000_000],
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 8_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants: { ...invariants, 'metrics-reconcile': 6_000 },
};
