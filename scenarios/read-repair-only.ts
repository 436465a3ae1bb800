import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

/** Without hints and sweeps: each key is read once after the calm, at one node, which makes all its replicas equal. */
export const readRepairOnly: Scenario = {
  name: 'read-repair-only',
  description:
    'replicas miss writes, and only reads repair: one read of a key at any node makes all its copies equal',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [120, 180],
    keys: 20,
    siblingKeys: 8,
    thinkUs: [0, 80_000],
    kinds: { get: 10, put: 80, delete: 10 },
  },
  faults: [
    { kind: 'network-partition', count: [1, 4], forUs: [300_000, 1_500_000], sideMax: 1, always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 40_000,
  settings: {
    ...{ aae_enabled: false, hinted_handoff: false, read_repair_percent: 100 },
    // Reads that are traced are not batched: some are, and some are not.
    ...{ otel_endpoint: 'http://collector:4318/v1/traces', otel_sample_ratio: 0.3 },
  },
  // There are few reads before the end.
  invariants: { ...invariants, 'session-guarantees': 1 },
};
