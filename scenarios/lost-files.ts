import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOfLoss, onDisks, smallStore } from './shared.ts';

export const lostFiles: Scenario = {
  name: 'lost-files',
  description:
    'nodes return without one of their files, or with an empty disk: they know all bucket properties before they serve',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...onDisks, needs: { quorum: 50, all: 50 } },
  faults: [
    {
      kind: 'file-loss',
      count: [2, 6],
      forUs: [20_000, 400_000],
      choices: { role: ['identity', 'members', 'hint', 'hints', 'snapshot'] },
      always: true,
    },
    { kind: 'disk-wipe', count: [1, 2], targets: ['n2'], forUs: [20_000, 300_000], always: true },
    { kind: 'power-loss', count: [0, 3], forUs: [20_000, 400_000] },
    { kind: 'network-partition', count: [0, 2], forUs: [100_000, 800_000], sideMax: 1 },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  // Only the nodes hold the properties that were set on buckets.
  settings: { ...smallStore, types_at_run_time: true },
  invariants: {
    ...invariantsOfLoss,
    convergence: 5,
    'input-robustness': 3,
    'session-guarantees': 0,
    liveness: 5,
  },
};
