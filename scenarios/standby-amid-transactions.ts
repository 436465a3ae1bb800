import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const standbyAmidTransactions: Scenario = {
  name: 'standby-amid-transactions',
  description:
    'an operator puts members in STANDBY and takes them back while they coordinate transactions and are primaries of others, and nodes crash: transactions are atomic, serializable and applied once',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: transfers },
  faults: [
    { kind: 'node-standby', count: [1, 3], forUs: [300_000, 2_000_000], always: true },
    { kind: 'process-crash', count: [1, 2], forUs: [50_000, 1_000_000], always: true },
    { kind: 'power-loss', count: [0, 2], forUs: [50_000, 1_000_000] },
    { kind: 'graceful-restart', count: [0, 1], forUs: [10_000, 800_000] },
    { kind: 'process-pause', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: { ...transactionSettings, gossip_interval_ms: 200 },
  invariants: transactionInvariants,
};
