import type { Scenario } from '../sim/plan/scenario.ts';
import { onDisks } from './shared.ts';

export const aloneWithLostRecords: Scenario = {
  name: 'alone-with-lost-records',
  description:
    'bits rot in the log of a cluster of one node, which crashes: it serves what its disk still holds, and nothing altered',
  cluster: { datacenters: 1, racks: 1, nodesPerRack: 1 },
  load: { ...onDisks, keys: 40, siblingKeys: 20, malformedInput: [0, 1], scrapes: [3, 5] },
  faults: [
    { kind: 'bit-rot', count: [3, 8], always: true },
    { kind: 'misdirected-io', count: [2, 4], forUs: [100_000, 1_000_000], always: true },
    { kind: 'process-crash', count: [2, 4], forUs: [50_000, 300_000], always: true },
  ],
  stormMs: 4_000,
  calmMs: 500,
  settleMsMax: 30_000,
  settings: { store_segment_bytes_max: 65_536, aae_segments: 256, aae_full_sweep_interval_seconds: 3 },
  repairedBy: 'sweeps',
  invariants: {
    durability: 20,
    convergence: 0,
    'data-integrity': 0,
    'input-robustness': 1,
    'metrics-reconcile': 2_000,
    'stats-agreement': 1,
    'valid-exposition': 10,
    determinism: 1,
    'no-ambient-time': 1,
    'no-silent-failures': 1,
  },
};
