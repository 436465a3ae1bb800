import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const forceAbort: Scenario = {
  name: 'force-abort',
  description:
    'transactions that must abort prepare everywhere and leave no trace, whichever node crashes meanwhile',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: { ...transfers, forcedPercent: 50 } },
  faults: [
    {
      kind: 'process-crash',
      count: [1, 3],
      forUs: [50_000, 800_000],
      after: { event: 'xa.c.vote.recv', nth: [1, 40], delayUs: [0, 1_500] },
      always: true,
    },
    { kind: 'power-loss', count: [0, 2], forUs: [50_000, 800_000] },
    { kind: 'network-partition', count: [0, 2], forUs: [100_000, 1_000_000], sideMax: 1 },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
