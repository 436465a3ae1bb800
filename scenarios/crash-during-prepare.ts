import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const crashDuringPrepare: Scenario = {
  name: 'crash-during-prepare',
  description:
    "nodes crash and lose power between a branch's lock and its vote: transactions are atomic, and recovered branches hold their locks again",
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: transfers },
  faults: [
    {
      kind: 'power-loss',
      count: [2, 4],
      forUs: [50_000, 800_000],
      after: { event: 'xa.p.prepareRec.written', nth: [1, 30], delayUs: [0, 1_500] },
      always: true,
    },
    {
      kind: 'process-crash',
      count: [1, 3],
      forUs: [50_000, 800_000],
      after: { event: 'xa.p.vote.sent', nth: [1, 30], delayUs: [0, 1_500] },
    },
    {
      kind: 'torn-write',
      count: [0, 2],
      forUs: [50_000, 800_000],
      after: { event: 'xa.p.locks.taken', nth: [1, 30], delayUs: [0, 1_500] },
    },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
