import type { Scenario } from '../sim/plan/scenario.ts';
import { hotly, quietly, transactionInvariants, transactionSettings } from './shared.ts';

export const stopsAmidTransactions: Scenario = {
  name: 'stops-amid-transactions',
  description:
    'nodes are stopped in order, with hardly a wait for their clients, while transactions and readers wait for each other: each stop ends, and leaves nothing behind',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...quietly,
    transactions: { ...hotly, kinds: { ...hotly.kinds, look: 60 } },
  },
  faults: [
    { kind: 'graceful-restart', count: [6, 10], forUs: [10_000, 200_000], always: true },
    {
      kind: 'message-filter',
      count: [2, 4],
      forUs: [300_000, 900_000],
      sideMax: 1,
      choices: { message: ['transactions'] },
      always: true,
    },
    { kind: 'process-pause', count: [1, 3], forUs: [200_000, 900_000], always: true },
    { kind: 'network-partition', count: [0, 2], forUs: [100_000, 900_000], sideMax: 1 },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  settings: { ...transactionSettings, drain_timeout_ms: 50 },
  invariants: transactionInvariants,
};
