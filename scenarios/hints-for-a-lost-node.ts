import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const hintsForALostNode: Scenario = {
  name: 'hints-for-a-lost-node',
  description: 'nodes hold hints for a node that dies for good: the hints reach the new owners of its keys',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r3', replaces: 'n3' }],
  },
  load: { ...slowly, needs: { one: 60, quorum: 40 } },
  faults: [
    {
      kind: 'network-partition',
      count: [1, 2],
      forUs: [400_000, 1_500_000],
      sideMax: 1,
      atUs: [0, 2_000_000],
      always: true,
    },
    {
      kind: 'process-pause',
      count: [1, 1],
      targets: ['n3'],
      forUs: [800_000, 2_000_000],
      atUs: [0, 500_000],
      always: true,
    },
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [2_500_000, 4_000_000], always: true },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 6_000,
  calmMs: 6_000,
  settleMsMax: 40_000,
  // Hints bring the replacement what only one other node has; reads repair what was lost with the dead node's own
  // hints.
  settings: {
    ...onTheMove,
    hinted_handoff: true,
    hint_drain_interval_ms: 500,
    phi_threshold_milli: 2000,
  },
  // There are few reads.
  invariants: {
    ...invariantsOnTheMove,
    convergence: 30,
    'ring-agreement': 3,
    'node-identity': 50,
    'session-guarantees': 0,
    'hint-delivery': 10,
  },
};
