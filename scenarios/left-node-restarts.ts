import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const leftNodeRestarts: Scenario = {
  name: 'left-node-restarts',
  description:
    'a node that has left is started again on its old disk, after tombstones written since then are gone: it refuses to start',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  load: { ...slowly, keys: 40, kinds: { get: 25, put: 45, delete: 30 } },
  faults: [
    {
      kind: 'membership-change',
      count: [1, 1],
      targets: ['n4', 'n5'],
      atUs: [500_000, 1_000_000],
      always: true,
    },
    {
      kind: 'removed-node-restart',
      count: [1, 1],
      targets: ['n4'],
      atUs: [6_000_000, 7_500_000],
      choices: { join: ['member', 'joining'] },
      always: true,
    },
    {
      kind: 'removed-node-restart',
      count: [1, 1],
      targets: ['n5'],
      atUs: [6_000_000, 7_500_000],
      choices: { join: ['member', 'joining'] },
      always: true,
    },
    {
      kind: 'sticky-clients',
      count: [0, 1],
      targets: ['n4', 'n5'],
      atUs: [6_000_000, 7_000_000],
      forUs: [500_000, 2_000_000],
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 9_000,
  calmMs: 5_000,
  settleMsMax: 40_000,
  settings: { ...onTheMove, tombstone_grace_seconds: 1 },
  invariants: { ...invariantsOnTheMove, convergence: 20, 'ring-agreement': 5 },
};
