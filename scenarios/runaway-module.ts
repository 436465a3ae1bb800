import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, jobLoad } from './shared.ts';

export const runawayModule: Scenario = {
  name: 'runaway-module',
  description:
    'Wasm modules for routes or phases never end, or demand all memory, for some requests: those fail, all others succeed',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: everyday,
  jobs: jobLoad,
  faults: [
    { kind: 'wasm-infinite-loop', count: [4, 12], always: true },
    { kind: 'wasm-memory-exhaustion', count: [2, 8], always: true },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 2_000_000] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: { features_wasm: true, wasm_fuel_max: 20_000 },
  invariants: { ...invariants, 'wasm-purity': 100 },
};
