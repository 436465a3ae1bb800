import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const coordinatorNeverReturns: Scenario = {
  name: 'coordinator-never-returns',
  description:
    'a node dies for good with transactions under way: the others finish what one of them knows the outcome of, the operator the rest',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: transfers },
  faults: [
    {
      kind: 'permanent-node-loss',
      count: [1, 1],
      after: { event: 'xa.c.vote.recv', nth: [5, 40], delayUs: [0, 400] },
      atUs: [500_000, 2_500_000],
      always: true,
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 5_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: { ...transactionInvariants, 'no-dangling-transactions': 2, 'resource-bounds': 2 },
};
