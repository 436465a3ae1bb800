import type { Scenario } from '../sim/plan/scenario.ts';
import { transactionInvariants } from './shared.ts';
import { transactionsDuringRingChange } from './transactions-during-ring-change.ts';

export const powerLossDuringRingChange: Scenario = {
  ...transactionsDuringRingChange,
  name: 'power-loss-during-ring-change',
  description:
    'members on slow disks lose power while a node joins and another leaves, under transactions: members agree in the end, and every transaction is atomic',
  faults: [
    ...transactionsDuringRingChange.faults.filter(({ kind }) => kind === 'membership-change'),
    {
      kind: 'slow-disk',
      count: [3, 5],
      forUs: [2_000_000, 6_000_000],
      params: { meanUs: [50_000, 150_000], tailUs: [0, 300_000] },
      always: true,
    },
    { kind: 'power-loss', count: [3, 6], forUs: [20_000, 200_000], always: true },
  ],
  // Syncs of a tenth of a second leave time for few transactions.
  invariants: {
    ...transactionInvariants,
    atomicity: 4,
    'no-dangling-transactions': 1,
    'exactly-once': 4,
    'input-robustness': 0,
    'ring-agreement': 4,
  },
};
