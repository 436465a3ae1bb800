import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const replacedNodeReturns: Scenario = {
  name: 'replaced-node-returns',
  description:
    'a replaced node starts again on its old disk, and clients stay with it: it serves none of them',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r2', replaces: 'n2' }],
  },
  // A read of a single copy must not miss what was written to all.
  load: { ...slowly, needs: { all: 50, quorum: 50 } },
  faults: [
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [500_000, 1_000_000], always: true },
    {
      kind: 'removed-node-restart',
      count: [1, 1],
      targets: ['n2'],
      atUs: [4_000_000, 5_000_000],
      choices: { join: ['member', 'joining'] },
      always: true,
    },
    {
      kind: 'sticky-clients',
      count: [1, 2],
      targets: ['n2'],
      // It waits two seconds for its peers before it serves.
      atUs: [4_500_000, 6_500_000],
      forUs: [3_000_000, 4_000_000],
      always: true,
    },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 8_000,
  calmMs: 6_000,
  settleMsMax: 40_000,
  settings: { ...onTheMove, phi_threshold_milli: 3_000, transfer_bytes_per_second: 2_097_152 },
  invariants: { ...invariantsOnTheMove, 'ring-agreement': 3 },
};
