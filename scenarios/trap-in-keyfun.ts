import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, jobLoad } from './shared.ts';

export const trapInKeyfun: Scenario = {
  name: 'trap-in-keyfun',
  description:
    'Wasm modules for routes or phases trap or return invalid results for some requests: no other call is affected',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  load: everyday,
  jobs: jobLoad,
  faults: [
    { kind: 'wasm-trap', count: [6, 20], always: true },
    { kind: 'wasm-bad-result', count: [4, 12], always: true },
    { kind: 'connection-reset', count: [0, 4] },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 2_000_000] },
    { kind: 'graceful-restart', count: [0, 2], forUs: [0, 500_000] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: { features_wasm: true, wasm_fuel_max: 20_000 },
  invariants: { ...invariants, 'wasm-purity': 100 },
};
