import type { Scenario } from '../sim/plan/scenario.ts';
import { hotly, quietly, transactionInvariants, transactionSettings } from './shared.ts';

export const conflictingBatches: Scenario = {
  name: 'conflicting-batches',
  description:
    'many clients write the same few keys at once: some abort, none blocks another for ever, and all are serializable',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: hotly },
  faults: [
    { kind: 'network-delay', count: [1, 4], forUs: [100_000, 2_000_000], always: true },
    { kind: 'connection-reset', count: [0, 3] },
    { kind: 'process-pause', count: [0, 2], forUs: [100_000, 700_000] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
