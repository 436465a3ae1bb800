import type { Scenario } from '../sim/plan/scenario.ts';
import { onDisks } from './shared.ts';

export const singleNodePowerLoss: Scenario = {
  name: 'single-node-power-loss',
  description:
    'a cluster of one node loses power and unsynced names, at work and in recovery: its own disk has every acknowledged write',
  cluster: { datacenters: 1, racks: 1, nodesPerRack: 1 },
  load: { ...onDisks, keys: 40, siblingKeys: 20, malformedInput: [0, 1], scrapes: [3, 5] },
  faults: [
    { kind: 'power-loss', count: [1, 3], forUs: [20_000, 300_000], always: true },
    { kind: 'torn-write', count: [0, 2], forUs: [20_000, 300_000] },
    { kind: 'lost-directory-entries', count: [1, 3], forUs: [20_000, 300_000], always: true },
    { kind: 'crash-loop', count: [0, 2], forUs: [5_000, 100_000], params: { stepMax: [1, 120] } },
  ],
  stormMs: 4_000,
  calmMs: 500,
  settleMsMax: 30_000,
  settings: { store_segment_bytes_max: 65_536, aae_segments: 1_048_576 },
  invariants: {
    durability: 40,
    'durable-before-ack': 10,
    'input-robustness': 1,
    'metrics-reconcile': 2_000,
    'stats-agreement': 1,
    'valid-exposition': 10,
    determinism: 1,
    'no-ambient-time': 1,
    'no-silent-failures': 1,
  },
};
