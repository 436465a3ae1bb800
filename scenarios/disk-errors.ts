import type { Scenario } from '../sim/plan/scenario.ts';
import { invariants, onDisks, smallStore } from './shared.ts';

export const diskErrors: Scenario = {
  name: 'disk-errors',
  description:
    'disks fail reads, writes and syncs, are full or slow: no write is acknowledged that is not durable, and nodes return',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: onDisks,
  faults: [
    { kind: 'read-error', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'write-error', count: [0, 2], forUs: [100_000, 1_500_000] },
    { kind: 'disk-full', count: [0, 2], forUs: [100_000, 1_500_000], params: { roomBytes: [0, 20_000] } },
    { kind: 'sync-error', count: [1, 3], forUs: [100_000, 1_500_000], always: true },
    {
      kind: 'slow-disk',
      count: [0, 2],
      forUs: [100_000, 1_500_000],
      params: { meanUs: [1_000, 100_000], tailUs: [0, 3_000_000] },
    },
    { kind: 'power-loss', count: [0, 2], forUs: [50_000, 700_000] },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: smallStore,
  // Nodes refuse many requests.
  invariants: { ...invariants, 'session-guarantees': 5 },
};
