import type { Scenario } from '../sim/plan/scenario.ts';
import { transactionInvariants } from './shared.ts';
import { transactionsDuringRingChange } from './transactions-during-ring-change.ts';

export const backupsUnderFaults: Scenario = {
  ...transactionsDuringRingChange,
  name: 'backups-under-faults',
  description:
    'an operator takes backups under transactions and puts while nodes crash, lose power, are cut off, join and leave: each backup holds one moment of the whole cluster',
  load: { ...transactionsDuringRingChange.load, siblingKeys: 3 },
  backups: [4, 6],
  faults: [
    ...transactionsDuringRingChange.faults.filter(({ kind }) => kind === 'membership-change'),
    { kind: 'process-crash', count: [1, 2], forUs: [50_000, 600_000] },
    { kind: 'power-loss', count: [1, 3], forUs: [50_000, 600_000] },
    {
      kind: 'power-loss',
      count: [0, 2],
      forUs: [50_000, 300_000],
      after: { event: 'backup.writes.held', nth: [1, 8], delayUs: [0, 3_000] },
    },
    { kind: 'network-delay', count: [1, 3], forUs: [200_000, 1_000_000] },
    // Branches wait for a decision that is durable as the backup is taken.
    {
      kind: 'network-partition',
      count: [3, 5],
      forUs: [200_000, 900_000],
      sideMax: 1,
      after: { event: 'xa.c.decision.synced', nth: [1, 40], delayUs: [0, 0] },
    },
    { kind: 'process-pause', count: [0, 2], forUs: [50_000, 400_000] },
  ],
  invariants: {
    ...transactionInvariants,
    'input-robustness': 0,
    'ring-agreement': 4,
    'backup-consistency': 20,
  },
};
