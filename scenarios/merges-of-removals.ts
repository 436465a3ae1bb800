import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending, transactionSettings, transfers } from './shared.ts';

export const mergesOfRemovals: Scenario = {
  name: 'merges-of-removals',
  description:
    'stores of tiny segments merge all the time, while objects, tombstones, hints and records of transactions come and go, and nodes crash: what was removed does not count again',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [120, 150],
    keys: 150,
    siblingKeys: 8,
    thinkUs: [0, 40_000],
    valueBytes: [16, 900],
    kinds: { get: 5, put: 70, delete: 25 },
    // They overwrite the same few keys, and leave records that are removed soon.
    transactions: { ...transfers, count: [50, 70], thinkUs: [0, 100_000] },
  },
  faults: [
    { kind: 'process-crash', count: [1, 3], forUs: [50_000, 500_000], always: true },
    { kind: 'power-loss', count: [0, 2], forUs: [50_000, 500_000] },
    { kind: 'network-partition', count: [1, 3], forUs: [100_000, 700_000], sideMax: 1, always: true },
  ],
  stormMs: 4_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: {
    ...mending,
    ...transactionSettings,
    store_segment_bytes_max: 4_096,
    tombstone_grace_seconds: 1,
  },
  invariants: { ...invariants, 'session-guarantees': 0 },
};
