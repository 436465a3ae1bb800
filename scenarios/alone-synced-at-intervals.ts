import type { Scenario } from '../sim/plan/scenario.ts';
import { onDisks } from './shared.ts';

export const aloneSyncedAtIntervals: Scenario = {
  name: 'alone-synced-at-intervals',
  description:
    'a cluster of one node that syncs every 150 ms loses power, also as its log has just been merged: what it acknowledged longer ago is there',
  cluster: { datacenters: 1, racks: 1, nodesPerRack: 1 },
  load: {
    ...onDisks,
    clients: 8,
    operations: [500, 650],
    // Each segment has many superseded records, and each key a durable version below the one that is not synced.
    keys: 100,
    siblingKeys: 40,
    thinkUs: [0, 60_000],
    valueBytes: [16, 900],
    kinds: { get: 30, put: 62, delete: 8 },
    malformedInput: [0, 1],
    scrapes: [3, 5],
  },
  faults: [
    // As a merge has taken effect: what replaced the records that it left out is not synced yet.
    ...[1, 3, 5].map((nth) => ({
      kind: 'power-loss' as const,
      count: [1, 1] as const,
      after: {
        event: 'store.segments.merged',
        host: 'n1',
        nth: [nth, nth + 1] as const,
        delayUs: [0, 20_000] as const,
      },
      forUs: [20_000, 100_000] as const,
      choices: { keeps: ['nothing'] as const },
      always: true,
    })),
    // Merges take long: keys are overwritten meanwhile.
    {
      kind: 'slow-disk',
      count: [1, 1],
      atUs: [0, 500_000],
      forUs: [3_000_000, 6_000_000],
      params: { meanUs: [4_000, 15_000], tailUs: [0, 0] },
      always: true,
    },
    { kind: 'power-loss', count: [0, 1], forUs: [20_000, 300_000] },
    { kind: 'process-crash', count: [0, 1], forUs: [20_000, 300_000] },
    { kind: 'torn-write', count: [0, 1], forUs: [20_000, 300_000] },
  ],
  stormMs: 6_000,
  calmMs: 500,
  settleMsMax: 30_000,
  settings: { store_segment_bytes_max: 8_192, aae_segments: 256, sync: 150 },
  invariants: {
    durability: 40,
    causality: 20,
    'input-robustness': 1,
    'metrics-reconcile': 1_000,
    'stats-agreement': 1,
    'valid-exposition': 4,
    determinism: 1,
    'no-ambient-time': 1,
    'no-silent-failures': 1,
  },
};
