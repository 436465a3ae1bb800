import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const operatorDecides: Scenario = {
  name: 'operator-decides',
  description:
    'coordinators crash and are cut off behind the votes, and an operator decides the branches in doubt, or abandons them, before they return: each decision stands until it was compared, and other branches follow their coordinator',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: { ...transfers, count: [50, 80] } },
  faults: [
    {
      kind: 'process-crash',
      count: [1, 3],
      forUs: [400_000, 1_500_000],
      after: { event: 'xa.c.vote.recv', nth: [3, 50], delayUs: [0, 400] },
      always: true,
    },
    {
      kind: 'network-partition',
      count: [1, 3],
      forUs: [400_000, 1_500_000],
      sideMax: 1,
      after: { event: 'xa.p.vote.sent', nth: [3, 50], delayUs: [0, 1_500] },
      always: true,
    },
    { kind: 'heuristic-decision', count: [40, 50], always: true },
    ...['n1', 'n2', 'n3'].map((node) => ({
      kind: 'power-loss' as const,
      count: [1, 1] as const,
      forUs: [50_000, 300_000] as const,
      targets: [node],
      after: { event: 'xa.branch.decided', nth: [1, 2] as const, delayUs: [0, 2_000] as const },
      always: true,
    })),
  ],
  stormMs: 5_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
