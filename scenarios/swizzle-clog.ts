import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const swizzleClog: Scenario = {
  name: 'swizzle-clog',
  description:
    'nodes are clogged one after another and freed in another order: nothing is lost, and all messages arrive',
  cluster: { datacenters: 1, racks: 5, nodesPerRack: 1 },
  load: everyday,
  faults: [
    {
      kind: 'swizzle-clog',
      count: [1, 2],
      forUs: [200_000, 1_500_000],
      params: { stepMs: [10, 400] },
      always: true,
    },
    { kind: 'network-clog', count: [0, 3], forUs: [100_000, 1_500_000], sideMax: 2 },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
  ],
  stormMs: 5_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants: { ...invariants, 'metrics-reconcile': 6_000 },
};
