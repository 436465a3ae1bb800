import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const zombieCoordinator: Scenario = {
  name: 'zombie-coordinator',
  description:
    'a coordinator is paused at its decision, and resumes long after the branches have inquired about it',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: transfers },
  faults: [
    {
      kind: 'process-pause',
      count: [2, 4],
      forUs: [700_000, 2_500_000],
      after: { event: 'xa.c.vote.recv', nth: [1, 40], delayUs: [0, 600] },
      always: true,
    },
    {
      kind: 'process-pause',
      count: [1, 3],
      forUs: [700_000, 2_500_000],
      after: { event: 'xa.c.decision.written', nth: [1, 20], delayUs: [0, 400] },
    },
    // A branch's vote that arrives after the coordinator has given up the branch.
    {
      kind: 'process-pause',
      count: [1, 3],
      forUs: [740_000, 960_000],
      after: { event: 'xa.p.vote.sent', nth: [1, 40], delayUs: [0, 0] },
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 800_000] },
  ],
  stormMs: 5_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
