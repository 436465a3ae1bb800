import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const dcLoss: Scenario = {
  name: 'dc-loss',
  description: 'a whole datacenter crashes and returns: the other one serves, and it catches up',
  cluster: { datacenters: 2, racks: 3, nodesPerRack: 1 },
  load: everyday,
  faults: [
    {
      kind: 'failure-domain-outage',
      group: 'datacenter',
      count: [1, 2],
      forUs: [200_000, 4_000_000],
      always: true,
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants: { ...invariants, convergence: 40, 'metrics-reconcile': 4_000 },
};
