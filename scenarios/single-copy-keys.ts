import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const singleCopyKeys: Scenario = {
  name: 'single-copy-keys',
  description:
    'keys have one copy: clients learn of commits once they are decided, and crashes and partitions come before branches apply them',
  cluster: { datacenters: 1, racks: 1, nodesPerRack: 3 },
  load: {
    ...quietly,
    transactions: { ...transfers, kinds: { ...transfers.kinds, bunch: 20 } },
  },
  faults: [
    {
      kind: 'power-loss',
      count: [2, 4],
      forUs: [50_000, 800_000],
      after: { event: 'xa.c.decision.written', nth: [1, 30], delayUs: [0, 1_500] },
      always: true,
    },
    {
      kind: 'process-crash',
      count: [1, 3],
      forUs: [50_000, 800_000],
      after: { event: 'xa.p.decision.recv', nth: [1, 30], delayUs: [0, 1_500] },
    },
    { kind: 'network-partition', count: [1, 3], forUs: [100_000, 1_500_000], sideMax: 1 },
    { kind: 'network-delay', count: [1, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
