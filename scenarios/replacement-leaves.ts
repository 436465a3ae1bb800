import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const replacementLeaves: Scenario = {
  name: 'replacement-leaves',
  description:
    'a node is replaced, its replacement leaves while clients write, and the dead node starts again: nothing is lost, nothing deleted returns',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 2,
    spares: [{ name: 'n7', datacenter: 'dc1', rack: 'r2', replaces: 'n2' }],
  },
  // Clients write much while the replacement hands over, and half of the single-copy reads are of keys written to all.
  load: {
    ...slowly,
    clients: 8,
    operations: [1_200, 1_500],
    thinkUs: [10_000, 100_000],
    kinds: { get: 40, put: 50, delete: 10 },
    needs: { quorum: 60, one: 20, all: 20 },
  },
  faults: [
    { kind: 'membership-change', count: [1, 1], targets: ['n7'], atUs: [200_000, 400_000], always: true },
    // By then it owns what n2 owned.
    { kind: 'membership-change', count: [1, 1], targets: ['n7'], atUs: [6_000_000, 7_000_000], always: true },
    {
      kind: 'network-partition',
      count: [2, 4],
      forUs: [300_000, 1_500_000],
      sideMax: 1,
      atUs: [5_500_000, 9_500_000],
      always: true,
    },
    {
      kind: 'removed-node-restart',
      count: [1, 1],
      targets: ['n2'],
      atUs: [13_000_000, 14_000_000],
      choices: { join: ['member', 'joining'] },
      always: true,
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 15_000,
  calmMs: 6_000,
  settleMsMax: 40_000,
  settings: {
    ...onTheMove,
    phi_threshold_milli: 3_000,
    transfer_bytes_per_second: 24_576,
    tombstone_grace_seconds: 1,
  },
  invariants: { ...invariantsOnTheMove, 'ring-agreement': 3 },
};
