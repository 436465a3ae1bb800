import type { Scenario } from '../sim/plan/scenario.ts';
import { operatorDecides } from './operator-decides.ts';
import { quietly, transactionInvariants, transfers } from './shared.ts';

export const backupsAmidDecisions: Scenario = {
  ...operatorDecides,
  name: 'backups-amid-decisions',
  description:
    'an operator takes backups while another one decides branches whose coordinators are cut off: what was committed by hand is in the backup, and other branches of the transaction follow it',
  load: {
    ...quietly,
    transactions: { ...transfers, count: [90, 130], kinds: { transfer: 45, append: 45, stamp: 10 } },
  },
  backups: [12, 16],
  faults: [
    // A coordinator is cut off as its prepare requests arrive: every branch is prepared, and no vote reaches it.
    ...['n1', 'n2', 'n3'].map((node) => ({
      kind: 'network-partition' as const,
      count: [1, 2] as const,
      forUs: [400_000, 1_500_000] as const,
      targets: [node],
      sideMax: 1,
      after: {
        event: 'xa.c.prepare.sent',
        host: node,
        nth: [3, 60] as const,
        delayUs: [300, 1_000] as const,
      },
      always: true,
    })),
    { kind: 'heuristic-decision', count: [40, 50], always: true },
    { kind: 'process-crash', count: [0, 1], forUs: [100_000, 500_000] },
  ],
  invariants: { ...transactionInvariants, 'strict-serializability': 10, 'backup-consistency': 10 },
};
