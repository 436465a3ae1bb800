import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, jobLoad } from './shared.ts';

export const moduleSwappedMidJob: Scenario = {
  name: 'module-swapped-mid-job',
  description:
    'a module is repeatedly replaced while jobs use it: each job sees one version, and all nodes end with the same one',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  load: everyday,
  jobs: jobLoad,
  faults: [
    { kind: 'wasm-module-swap', count: [3, 10], always: true },
    { kind: 'network-delay', count: [0, 4], forUs: [100_000, 2_000_000] },
    { kind: 'network-partition', count: [0, 2], forUs: [200_000, 1_500_000] },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 2_000_000] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: { features_wasm: true },
  invariants: { ...invariants, 'wasm-purity': 100 },
};
