import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOfLoss, onDisks, smallStore } from './shared.ts';

export const oldAndForeignDisks: Scenario = {
  name: 'old-and-foreign-disks',
  description:
    "a node returns on an older image of its disk, after lying syncs, or on another node's disk, which it refuses",
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...onDisks, needs: { quorum: 50, all: 50 } },
  faults: [
    // A lie about the manifest costs the store; then only an operator can help.
    {
      kind: 'lying-sync',
      count: [0, 2],
      targets: ['n2'],
      forUs: [100_000, 2_000_000],
      choices: { role: ['log', 'identity', 'members', 'snapshot'] },
    },
    {
      kind: 'disk-rollback',
      count: [0, 2],
      targets: ['n2'],
      forUs: [50_000, 500_000],
      params: { ageMs: [10, 2_000] },
    },
    { kind: 'foreign-disk', count: [1, 3], forUs: [50_000, 1_000_000], always: true },
    { kind: 'power-loss', count: [0, 3], forUs: [50_000, 700_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  settings: smallStore,
  invariants: { ...invariantsOfLoss, convergence: 5 },
};
