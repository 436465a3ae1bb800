import type { Scenario } from '../sim/plan/scenario.ts';
import { transactionInvariants } from './shared.ts';
import { transactionsDuringRingChange } from './transactions-during-ring-change.ts';

export const diskErrorsDuringRingChange: Scenario = {
  ...transactionsDuringRingChange,
  name: 'disk-errors-during-ring-change',
  description:
    'disks fail to read, to write and to sync while a node joins and another leaves, under transactions: the ring change is tried again, and no copy is lost',
  load: {
    ...transactionsDuringRingChange.load,
    operations: [60, 90],
    keys: 40,
    siblingKeys: 10,
    thinkUs: [0, 80_000],
    kinds: { get: 10, put: 85, delete: 5 },
  },
  faults: [
    ...transactionsDuringRingChange.faults.filter(({ kind }) => kind === 'membership-change'),
    // The file that says at which step of the change a node is.
    ...(['write-error', 'sync-error'] as const).map((kind) => ({
      kind,
      targets: ['n1', 'n4'],
      count: [2, 4] as const,
      forUs: [200_000, 1_500_000] as const,
      params: { oneIn: [1, 2] as const },
      choices: { role: ['members'] },
      always: true,
    })),
    // The copies that a node hands over.
    {
      kind: 'read-error',
      count: [2, 4],
      forUs: [200_000, 1_500_000],
      params: { oneIn: [1, 3] },
      choices: { role: ['objects'] },
      always: true,
    },
    // Where they go.
    {
      kind: 'disk-full',
      targets: ['n2', 'n3', 'n4'],
      count: [1, 2],
      forUs: [200_000, 1_200_000],
      params: { roomBytes: [0, 8_000] },
    },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
  ],
  settings: { ...transactionsDuringRingChange.settings, store_cache_bytes_max: 0 },
  invariants: {
    ...transactionInvariants,
    atomicity: 4,
    'no-dangling-transactions': 1,
    'exactly-once': 4,
    'input-robustness': 0,
    'ring-agreement': 4,
    durability: 5,
    'transfer-soundness': 1,
  },
};
