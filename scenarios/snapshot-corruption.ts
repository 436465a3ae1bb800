import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

export const snapshotCorruption: Scenario = {
  name: 'snapshot-corruption',
  description:
    'nodes restart with a flipped bit in the snapshot of their hash tree: they reject it, and serve',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, thinkUs: [0, 80_000] },
  faults: [
    { kind: 'snapshot-bit-rot', count: [3, 6], forUs: [10_000, 800_000], always: true },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 8_000,
  calmMs: 4_000,
  settleMsMax: 30_000,
  settings: { aae_tick_interval_seconds: 1, aae_segments: 256 },
  invariants: { ...invariants, 'exchange-soundness': 3, 'repair-soundness': 60, 'snapshot-rejection': 1 },
};
