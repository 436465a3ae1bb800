import type { Scenario } from '../sim/plan/scenario.ts';
import { hintsForALostNode } from './hints-for-a-lost-node.ts';

export const hintsThatOwnersRefuse: Scenario = {
  ...hintsForALostNode,
  name: 'hints-that-owners-refuse',
  description:
    'nodes hold hints for a node that dies for good, and some new owners have no space for them: a hint stays until each of them has it',
  faults: [
    ...hintsForALostNode.faults,
    {
      kind: 'disk-full',
      count: [2, 3],
      atUs: [2_500_000, 6_000_000],
      forUs: [1_000_000, 2_500_000],
      params: { roomBytes: [0, 2_000] },
      always: true,
    },
  ],
};
