import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const wipedDuringRingChange: Scenario = {
  name: 'wiped-during-ring-change',
  description:
    'a node that takes over the ranges of a leaving one loses its disk amid that: it holds in the end what the others do',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  load: { ...slowly, operations: [120, 180], needs: { all: 60, quorum: 40 } },
  faults: [
    {
      kind: 'membership-change',
      count: [1, 1],
      targets: ['n4'],
      atUs: [1_000_000, 2_000_000],
      always: true,
    },
    {
      kind: 'disk-wipe',
      count: [1, 1],
      targets: ['n1'],
      atUs: [2_000_000, 3_500_000],
      after: { event: 'membership.move.declared', host: 'n4', nth: [2, 2], delayUs: [500_000, 1_300_000] },
      forUs: [10_000, 100_000],
      always: true,
    },
    // The leaving node has pushed some ranges, and pushes the others only when the first one is rebuilt.
    {
      kind: 'message-filter',
      count: [1, 1],
      targets: ['n4'],
      sideMax: 1,
      choices: { message: ['writes'] },
      atUs: [1_500_000, 2_500_000],
      after: { event: 'membership.move.declared', host: 'n4', nth: [2, 2], delayUs: [100_000, 600_000] },
      forUs: [2_500_000, 3_500_000],
      always: true,
    },
  ],
  stormMs: 4_000,
  calmMs: 6_000,
  settleMsMax: 30_000,
  settings: { ...onTheMove, transfer_bytes_per_second: 32_768 },
  invariants: {
    ...invariantsOnTheMove,
    'ring-agreement': 5,
    'transfer-soundness': 1,
    'session-guarantees': 0,
  },
};
