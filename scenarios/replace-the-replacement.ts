import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const replaceTheReplacement: Scenario = {
  name: 'replace-the-replacement',
  description:
    'a node is replaced, and later its replacement is: peers assign the tokens to the last one, and nothing is lost',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [
      { name: 'n4', datacenter: 'dc1', rack: 'r2', replaces: 'n2' },
      { name: 'n5', datacenter: 'dc1', rack: 'r2', replaces: 'n4' },
    ],
  },
  load: { ...slowly, operations: [400, 600], thinkUs: [30_000, 250_000] },
  faults: [
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [500_000, 1_500_000], always: true },
    // By then n4 owns what n2 owned, with n2's tokens, which do not follow from n4's own name.
    { kind: 'membership-change', count: [1, 1], targets: ['n5'], atUs: [7_000_000, 8_000_000], always: true },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    {
      kind: 'network-partition',
      count: [1, 2],
      forUs: [300_000, 1_000_000],
      sideMax: 1,
      atUs: [8_000_000, 10_000_000],
      always: true,
    },
    // n5 dies before it is admitted, while it copies, or afterwards, when its disk alone knows its tokens.
    {
      kind: 'process-crash',
      count: [2, 3],
      targets: ['n5'],
      atUs: [9_000_000, 17_500_000],
      forUs: [100_000, 1_000_000],
      always: true,
    },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 18_000,
  calmMs: 8_000,
  settleMsMax: 40_000,
  settings: { ...onTheMove, phi_threshold_milli: 3_000 },
  invariants: { ...invariantsOnTheMove, 'ring-agreement': 6 },
};
