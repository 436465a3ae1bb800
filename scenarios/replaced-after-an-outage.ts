import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

const outageUs = [1_000_000, 1_300_000] as const;

export const replacedAfterAnOutage: Scenario = {
  name: 'replaced-after-an-outage',
  description:
    'all nodes lose power and one does not return: no running node has been in contact with it, and it can be replaced nevertheless',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r2', replaces: 'n2' }],
  },
  load: slowly,
  faults: [
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [500_000, 1_000_000], always: true },
    // The first node to go is not back before the others have gone, too.
    {
      kind: 'power-loss',
      count: [1, 1],
      targets: ['n1'],
      atUs: outageUs,
      forUs: [400_000, 1_500_000],
      always: true,
    },
    {
      kind: 'power-loss',
      count: [1, 1],
      targets: ['n3'],
      atUs: outageUs,
      forUs: [400_000, 1_500_000],
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
