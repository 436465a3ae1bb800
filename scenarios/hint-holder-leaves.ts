import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const hintHolderLeaves: Scenario = {
  name: 'hint-holder-leaves',
  description:
    'a node that holds hints for a dead one leaves before that one returns: the hints reach it nevertheless',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  // Some operations remain for the time after the dead node's return: its answers are compared.
  load: { ...slowly, operations: [340, 440], needs: { one: 50, quorum: 50 } },
  faults: [
    {
      kind: 'process-crash',
      count: [1, 1],
      targets: ['n3', 'n6'],
      forUs: [5_000_000, 9_000_000],
      atUs: [0, 800_000],
      always: true,
    },
    {
      kind: 'membership-change',
      count: [1, 1],
      targets: ['n4', 'n5'],
      atUs: [1_200_000, 2_500_000],
      always: true,
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 7_000,
  calmMs: 6_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  // Only hints bring the dead node what it missed. The others soon regard it as down, so the leaving node does not wait
  // for it.
  settings: {
    ...onTheMove,
    hinted_handoff: true,
    hint_drain_interval_ms: 500,
    phi_threshold_milli: 2000,
    request_timeout_ms: 700,
  },
  invariants: { ...invariantsOnTheMove, 'ring-agreement': 5, 'hint-delivery': 10 },
};
