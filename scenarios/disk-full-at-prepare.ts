import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const diskFullAtPrepare: Scenario = {
  name: 'disk-full-at-prepare',
  description:
    'a disk is full, or a sync fails, as a branch writes its record: the branch votes abort or not at all',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: transfers },
  faults: [
    {
      kind: 'disk-full',
      params: { roomBytes: [0, 400] },
      count: [1, 3],
      forUs: [100_000, 1_000_000],
      after: { event: 'xa.p.locks.taken', nth: [1, 30], delayUs: [0, 300] },
      always: true,
    },
    {
      kind: 'sync-error',
      params: { oneIn: [1, 1] },
      count: [1, 2],
      forUs: [100_000, 1_000_000],
      after: { event: 'xa.p.prepareRec.written', nth: [1, 30], delayUs: [0, 200] },
    },
    {
      kind: 'disk-full',
      params: { roomBytes: [0, 400] },
      count: [1, 2],
      forUs: [100_000, 1_000_000],
      after: { event: 'xa.c.decision.beforeLog', nth: [1, 20], delayUs: [0, 100] },
    },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
