import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const replaceDeadNode: Scenario = {
  name: 'replace-dead-node',
  description: 'a node dies for good and is replaced while clients write: its data is restored',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r2', replaces: 'n2' }],
  },
  load: slowly,
  faults: [
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [1_500_000, 3_000_000], always: true },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    {
      kind: 'network-partition',
      count: [1, 2],
      forUs: [300_000, 1_000_000],
      sideMax: 1,
      atUs: [0, 1_500_000],
      always: true,
    },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 8_000,
  calmMs: 8_000,
  settleMsMax: 40_000,
  settings: onTheMove,
  invariants: { ...invariantsOnTheMove, 'ring-agreement': 3 },
};
