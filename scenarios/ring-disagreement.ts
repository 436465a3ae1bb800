import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const ringDisagreement: Scenario = {
  name: 'ring-disagreement',
  description: 'nodes join while gossip is late or lost: nodes with different ring views exchange no data',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [
      { name: 'n4', datacenter: 'dc1', rack: 'r1' },
      { name: 'n5', datacenter: 'dc1', rack: 'r2' },
    ],
  },
  load: slowly,
  faults: [
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [500_000, 2_000_000], always: true },
    { kind: 'membership-change', count: [1, 1], targets: ['n5'], atUs: [500_000, 4_000_000], always: true },
    {
      kind: 'message-filter',
      count: [2, 5],
      forUs: [300_000, 2_000_000],
      choices: { message: ['gossip'] },
      always: true,
    },
    { kind: 'process-pause', count: [1, 3], forUs: [1_000_000, 4_000_000] },
    { kind: 'network-partition', count: [0, 2], forUs: [300_000, 1_500_000], sideMax: 1 },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 8_000,
  calmMs: 8_000,
  settleMsMax: 40_000,

  settings: onTheMove,
  invariants: { ...invariantsOnTheMove, 'ring-agreement': 5 },
};
