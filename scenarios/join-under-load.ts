import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const joinUnderLoad: Scenario = {
  name: 'join-under-load',
  description: 'a node joins a rack while clients write: it becomes owner in one step, and nothing is lost',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r1' }],
  },
  load: slowly,
  faults: [
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [1_000_000, 3_500_000], always: true },
    { kind: 'network-delay', count: [0, 4], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
    {
      kind: 'network-partition',
      count: [1, 3],
      forUs: [300_000, 1_500_000],
      sideMax: 1,
      atUs: [0, 2_500_000],
      always: true,
    },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 1_000_000] },
  ],
  stormMs: 6_000,
  calmMs: 6_000,
  settleMsMax: 30_000,
  settings: onTheMove,
  invariants: { ...invariantsOnTheMove, 'ring-agreement': 4, 'transfer-soundness': 5 },
};
