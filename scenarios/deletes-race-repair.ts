import type { Scenario } from '../sim/plan/scenario.ts';
import { mendingAlone, mendingInvariants, seldomRead } from './shared.ts';

export const deletesRaceRepair: Scenario = {
  name: 'deletes-race-repair',
  description:
    'objects are deleted while replicas that missed it repair one another: deleted objects stay deleted, with or without tombstones',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  // With fewer keys, too few would remain at the end for `convergence` to compare.
  load: { ...seldomRead, keys: 32, siblingKeys: 8, kinds: { get: 6, put: 54, delete: 40 } },
  faults: [
    { kind: 'network-partition', count: [2, 4], forUs: [300_000, 2_500_000], sideMax: 1, always: true },
    { kind: 'connection-reset', count: [0, 4] },
    { kind: 'process-crash', count: [0, 3], forUs: [10_000, 1_500_000] },
  ],
  stormMs: 9_000,
  calmMs: 4_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: { ...mendingAlone, tombstone_grace_seconds: 1 },
  // Few reads have an answer to compare.
  invariants: { ...mendingInvariants, 'quorum-intersection': 30 },
};
