import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOfLoss, onDisks, smallStore } from './shared.ts';

export const bitRot: Scenario = {
  name: 'bit-rot',
  description:
    "bits flip, writes and reads are misdirected and logs are truncated on one node's disk: altered data is never served",
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...onDisks, needs: { quorum: 50, all: 50 } },
  faults: [
    { kind: 'bit-rot', count: [3, 12], targets: ['n2'], always: true },
    { kind: 'misdirected-io', count: [0, 3], targets: ['n2'], forUs: [100_000, 2_000_000] },
    { kind: 'log-truncation', count: [0, 1], targets: ['n2'], forUs: [50_000, 500_000] },
    { kind: 'process-crash', count: [1, 4], targets: ['n2'], forUs: [50_000, 500_000], always: true },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  // A sweep finds bytes that rotted unread, and the other replicas restore them.
  settings: { ...smallStore, aae_full_sweep_interval_seconds: 3 },
  invariants: { ...invariantsOfLoss, convergence: 5, 'data-integrity': 8 },
};
