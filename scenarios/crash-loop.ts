import type { Scenario } from '../sim/plan/scenario.ts';
import { invariants, onDisks, smallStore } from './shared.ts';

export const crashLoop: Scenario = {
  name: 'crash-loop',
  description:
    'nodes repeatedly lose power and unsynced names while they recover: recovery continues where it was',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...onDisks, operations: [180, 270] },
  faults: [
    {
      kind: 'crash-loop',
      count: [1, 4],
      forUs: [5_000, 200_000],
      params: { stepMax: [1, 120] },
      always: true,
    },
    {
      kind: 'lost-directory-entries',
      count: [0, 3],
      forUs: [50_000, 500_000],
      after: { event: 'disk.name.renamed', nth: [1, 30], delayUs: [0, 600] },
    },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 500_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: smallStore,
  invariants: { ...invariants, 'session-guarantees': 5 },
};
