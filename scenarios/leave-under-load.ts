import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const leaveUnderLoad: Scenario = {
  name: 'leave-under-load',
  description: 'a node hands over its ranges and leaves while clients write: nothing is lost',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  load: slowly,
  faults: [
    {
      kind: 'membership-change',
      count: [1, 1],
      targets: ['n4', 'n5'],
      atUs: [1_000_000, 3_500_000],
      always: true,
    },
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
  ],
  stormMs: 6_000,
  calmMs: 6_000,
  settleMsMax: 30_000,
  settings: onTheMove,
  invariants: { ...invariantsOnTheMove, 'ring-agreement': 5, 'transfer-soundness': 1 },
};
