import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const outcomesForgotten: Scenario = {
  name: 'outcomes-forgotten',
  description:
    'nodes forget outcomes and ids within seconds, while they crash and are cut off, and clients repeat what is not forgotten yet: it happens once, and nothing is remembered for ever',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...quietly,
    transactions: { ...transfers, count: [90, 140], thinkUs: [0, 250_000], namedPercent: 60 },
  },
  faults: [
    // They repeat what was answered before, well within the retention.
    {
      kind: 'late-retry',
      count: [20, 40],
      targets: ['x0', 'x1', 'x2', 'x3'],
      atUs: [1_000_000, 5_000_000],
      params: { count: [1, 3] },
      always: true,
    },
    { kind: 'process-crash', count: [1, 3], forUs: [100_000, 1_500_000], always: true },
    { kind: 'power-loss', count: [0, 2], forUs: [100_000, 1_500_000] },
    { kind: 'network-partition', count: [0, 2], forUs: [200_000, 1_500_000], sideMax: 1 },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
  ],
  stormMs: 9_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: { ...transactionSettings, transaction_retention_seconds: 8 },
  invariants: transactionInvariants,
};
