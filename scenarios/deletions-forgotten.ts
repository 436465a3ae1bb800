import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

/**
 * No hints: what a replica missed while it was away it learns by comparison. A grace of one second in a world where
 * nodes are away for longer: whether a deletion may be forgotten is never a matter of time alone.
 */
export const deletionsForgotten: Scenario = {
  name: 'deletions-forgotten',
  story:
    'deletions are forgotten within seconds while replicas are cut off, die and return: nothing deleted comes back',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [300, 400],
    keys: 20,
    siblingKeys: 8,
    thinkUs: [0, 120_000],
    kinds: { get: 35, put: 35, delete: 30 },
  },
  faults: [
    { kind: 'FN8', count: [1, 4], forUs: [200_000, 2_500_000], sideMax: 1, always: true },
    { kind: 'FN9', count: [0, 2], forUs: [200_000, 1_500_000], sideMax: 1 },
    { kind: 'FP1', count: [1, 3], forUs: [500_000, 3_000_000], always: true },
    { kind: 'FD6', count: [0, 2], forUs: [500_000, 3_000_000] },
    { kind: 'FN1', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'FN11', count: [0, 4] },
  ],
  // Long enough for clients to do something although two of three are away for the most part of it.
  stormMs: 9_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  mendedBy: 'sweeps',
  settings: { ...mending, hinted_handoff: false, tombstone_grace_seconds: 1 },
  // Replicas are away for most of it: in one of 300 runs a single operation was one that nothing may have held up (INV20).
  invariants: { ...invariants, INV4: 40, INV5: 5, INV9: 60, INV10: 4, INV12: 60, INV20: 1, INV34: 10 },
};
