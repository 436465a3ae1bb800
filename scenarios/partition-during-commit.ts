import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const partitionDuringCommit: Scenario = {
  name: 'partition-during-commit',
  description:
    'a node is partitioned away just as a coordinator decides: branches that voted wait for the decision',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: transfers },
  faults: [
    {
      kind: 'network-partition',
      count: [2, 5],
      forUs: [200_000, 1_500_000],
      sideMax: 1,
      after: { event: 'xa.c.decision.synced', nth: [1, 25], delayUs: [0, 500] },
      always: true,
    },
    {
      kind: 'one-way-partition',
      count: [1, 3],
      forUs: [200_000, 1_500_000],
      sideMax: 1,
      after: { event: 'xa.p.vote.sent', nth: [1, 25], delayUs: [0, 500] },
    },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
