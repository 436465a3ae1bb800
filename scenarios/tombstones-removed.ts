import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

/**
 * Without hints, a replica learns what it missed by comparison alone. The grace is one second, while nodes are away for
 * longer: time alone never decides whether a deletion may be forgotten.
 */
export const tombstonesRemoved: Scenario = {
  name: 'tombstones-removed',
  description:
    'tombstones are removed within seconds while replicas are partitioned away, crash and return: no deleted object comes back',
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
    { kind: 'network-partition', count: [1, 4], forUs: [200_000, 2_500_000], sideMax: 1, always: true },
    { kind: 'one-way-partition', count: [0, 2], forUs: [200_000, 1_500_000], sideMax: 1 },
    { kind: 'process-crash', count: [1, 3], forUs: [500_000, 3_000_000], always: true },
    { kind: 'power-loss', count: [0, 2], forUs: [500_000, 3_000_000] },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
    // A replica remembers the tombstones that it removed until it starts again: only from then on could a value come back.
    {
      kind: 'network-partition',
      count: [1, 1],
      targets: ['n3'],
      atUs: [800_000, 1_200_000],
      forUs: [4_600_000, 5_000_000],
      always: true,
    },
    ...['n1', 'n2'].map(
      (node) =>
        ({
          kind: 'process-crash',
          count: [1, 1],
          targets: [node],
          atUs: [4_800_000, 5_200_000],
          forUs: [50_000, 150_000],
          always: true,
        }) as const,
    ),
  ],
  // Long enough for clients to make progress although two of three nodes are away for most of it.
  stormMs: 9_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: { ...mending, hinted_handoff: false, tombstone_grace_seconds: 1 },
  // Replicas are away for most of the run: in one of 300 runs, faults may have delayed all operations but one
  // (`session-guarantees`).
  invariants: {
    ...invariants,
    durability: 40,
    'durable-before-ack': 5,
    causality: 60,
    convergence: 4,
    'repair-soundness': 60,
    'session-guarantees': 1,
    'timestamp-accuracy': 10,
  },
};
