import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const wrongIdentity: Scenario = {
  name: 'wrong-identity',
  description: 'impostors claim a name, a cluster or a token that is not theirs: no member accepts them',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: everyday,
  faults: [
    { kind: 'wrong-identity', count: [1, 4], forUs: [0, 0], always: true },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants: { ...invariants, 'ring-agreement': 3 },
};
