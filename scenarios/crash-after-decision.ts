import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const crashAfterDecision: Scenario = {
  name: 'crash-after-decision',
  description:
    'coordinators crash once the decision is durable, before or while branches learn of it: every branch commits',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: transfers },
  faults: [
    {
      kind: 'power-loss',
      count: [2, 4],
      forUs: [50_000, 1_000_000],
      after: { event: 'xa.c.decision.synced', nth: [1, 20], delayUs: [0, 1_500] },
      always: true,
    },
    {
      kind: 'process-crash',
      count: [1, 3],
      forUs: [50_000, 1_000_000],
      after: { event: 'xa.c.commit.sent', nth: [1, 40], delayUs: [0, 1_500] },
    },
    {
      kind: 'power-loss',
      count: [1, 2],
      forUs: [50_000, 1_000_000],
      after: { event: 'xa.c.decision.written', nth: [1, 20], delayUs: [0, 500] },
    },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
