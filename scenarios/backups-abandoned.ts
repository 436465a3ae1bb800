import type { Scenario } from '../sim/plan/scenario.ts';
import {
  mending,
  quietInvariants,
  quietly,
  transactionInvariants,
  transactionSettings,
  transfers,
} from './shared.ts';

export const backupsAbandoned: Scenario = {
  name: 'backups-abandoned',
  description:
    'processes that take backups vanish once nodes hold their writes back, while nodes crash and another backup is taken: writes go on when the lease ends, and the vanished backup takes no cut any more',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...quietly,
    thinkUs: [0, 120_000],
    transactions: { ...transfers, clients: 2, count: [15, 25], thinkUs: [0, 250_000] },
  },
  backups: [0, 1],
  faults: [
    { kind: 'backup-abandoned', count: [3, 6], params: { leaseMs: [20, 1_200] }, always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 500_000] },
    { kind: 'power-loss', count: [0, 1], forUs: [50_000, 500_000] },
    { kind: 'network-delay', count: [0, 1], forUs: [100_000, 800_000] },
  ],
  stormMs: 4_500,
  calmMs: 2_000,
  settleMsMax: 30_000,
  settings: { ...mending, ...transactionSettings },
  invariants: { ...transactionInvariants, ...quietInvariants, 'backup-consistency': 4 },
};
