import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

/** Reads that one replica satisfies, of keys that were written once or never, while replicas are cut off. */
export const bucketsThatConfirmAbsences: Scenario = {
  name: 'buckets-that-confirm-absences',
  description:
    'replicas are cut off, and buckets ask for one replica, but that an absence is confirmed (notfound_ok=false): a read says "not found" only of what no replica has',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [200, 260],
    keys: 60,
    siblingKeys: 20,
    thinkUs: [0, 80_000],
    kinds: { get: 55, put: 45 },
  },
  faults: [
    { kind: 'network-partition', count: [3, 6], forUs: [300_000, 1_200_000], sideMax: 1, always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 800_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 40_000,
  settings: { bucket_needs: 'r=one w=one notfound_ok=false' },
  invariants: {
    ...invariants,
    durability: 5,
    'durable-before-ack': 2,
    causality: 20,
    convergence: 5,
    'quorum-intersection': 10,
    'session-guarantees': 0,
    liveness: 3,
    'no-ambient-time': 2,
    'no-silent-failures': 2,
  },
};
