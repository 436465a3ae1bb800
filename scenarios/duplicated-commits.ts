import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const duplicatedCommits: Scenario = {
  name: 'duplicated-commits',
  description:
    'prepare requests, votes and commits are lost, duplicated, replayed and reordered: each takes effect once',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: transfers },
  faults: [
    { kind: 'message-loss', count: [1, 3], forUs: [200_000, 2_000_000], params: { oneIn: [4, 40] } },
    {
      kind: 'message-duplication',
      count: [1, 3],
      forUs: [200_000, 2_000_000],
      params: { delayMsMax: [1, 4_000] },
      always: true,
    },
    { kind: 'message-replay', count: [1, 3], forUs: [200_000, 2_000_000] },
    { kind: 'message-reordering', count: [1, 3], forUs: [200_000, 2_000_000] },
    { kind: 'message-filter', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'process-pause', count: [0, 2], forUs: [300_000, 1_500_000] },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 800_000] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 40_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
