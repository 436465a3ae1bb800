import type { Scenario } from '../sim/plan/scenario.ts';
import { invariants, onDisks, smallStore } from './shared.ts';

export const diskErrors: Scenario = {
  name: 'disk-errors',
  story:
    'disks fail reads, writes and syncs, are full, are slow: nothing is acknowledged that is not there, and nodes return',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: onDisks,
  faults: [
    { kind: 'FD1', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'FD2', count: [0, 2], forUs: [100_000, 1_500_000] },
    { kind: 'FD3', count: [0, 2], forUs: [100_000, 1_500_000], params: { roomBytes: [0, 20_000] } },
    { kind: 'FD4', count: [1, 3], forUs: [100_000, 1_500_000], always: true },
    {
      kind: 'FD5',
      count: [0, 2],
      forUs: [100_000, 1_500_000],
      params: { meanUs: [1_000, 100_000], tailUs: [0, 3_000_000] },
    },
    { kind: 'FD6', count: [0, 2], forUs: [50_000, 700_000] },
    { kind: 'FN1', count: [0, 2], forUs: [100_000, 1_000_000] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  mendedBy: 'sweeps',
  settings: smallStore,
  // Clients are refused a lot.
  invariants: { ...invariants, INV20: 5 },
};
