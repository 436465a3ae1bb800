import type { Scenario } from '../sim/plan/scenario.ts';
import { mending, quietInvariants, quietly } from './shared.ts';

export const credentialsChanged: Scenario = {
  name: 'credentials-changed',
  description:
    'operators remove, limit and demote a credential at running nodes while its client is connected, and nodes crash: it is refused at once, everywhere on that node, and clients of other credentials notice nothing',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, thinkUs: [0, 120_000] },
  faults: [
    { kind: 'credential-change', count: [6, 10], forUs: [20_000, 600_000], always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 500_000] },
    { kind: 'power-loss', count: [0, 1], forUs: [50_000, 500_000] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  settings: { ...mending, credentials: 'world' },
  invariants: { ...quietInvariants, 'access-control': 20 },
};
