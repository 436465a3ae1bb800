import type { Scenario } from '../sim/plan/scenario.ts';
import { transactionInvariants } from './shared.ts';
import { transactionsOnTheMove } from './transactions-on-the-move.ts';

export const powerLossDuringRingChange: Scenario = {
  ...transactionsOnTheMove,
  name: 'power-loss-during-ring-change',
  story:
    'the power goes at members on slow disks while a node joins and one leaves, under transactions: members agree in the end, and no transaction is torn',
  faults: [
    ...transactionsOnTheMove.faults.filter(({ kind }) => kind === 'FM1'),
    {
      kind: 'FD5',
      count: [3, 5],
      forUs: [2_000_000, 6_000_000],
      params: { meanUs: [50_000, 150_000], tailUs: [0, 300_000] },
      always: true,
    },
    { kind: 'FD6', count: [3, 6], forUs: [20_000, 200_000], always: true },
  ],
  // Syncs of a tenth of a second leave time for few transactions.
  invariants: { ...transactionInvariants, INV1: 4, INV3: 1, INV8: 4, INV16: 0, INV17: 4 },
};
