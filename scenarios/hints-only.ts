import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

export const hintsOnly: Scenario = {
  name: 'hints-only',
  description: 'replicas repeatedly miss writes: hints alone bring them what they missed',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, kinds: { get: 15, put: 80, delete: 5 }, needs: { one: 50, quorum: 50 } },
  faults: [
    { kind: 'network-partition', count: [1, 4], forUs: [300_000, 2_500_000], sideMax: 1, always: true },
    { kind: 'process-pause', count: [0, 3], forUs: [200_000, 2_500_000] },
    { kind: 'connection-reset', count: [0, 6] },
  ],
  stormMs: 5_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  // Nodes are soon regarded as down, so that writes to them are not even tried; only hints repair.
  settings: {
    aae_enabled: false,
    hint_drain_interval_ms: 500,
    gossip_interval_ms: 100,
    phi_mean_ms_min: 100,
    phi_threshold_milli: 2000,
  },
  invariants: { ...invariants, durability: 30, 'session-guarantees': 5, 'hint-delivery': 3 },
};
