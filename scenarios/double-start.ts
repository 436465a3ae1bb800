import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const doubleStart: Scenario = {
  name: 'double-start',
  description: 'a node is started a second time on its directory: the second is refused, the first goes on',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: everyday,
  faults: [
    { kind: 'double-start', count: [1, 5], always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 600_000] },
    { kind: 'graceful-restart', count: [0, 2], forUs: [10_000, 500_000] },
  ],
  stormMs: 3_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants,
};
