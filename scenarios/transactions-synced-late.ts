import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, smallStore, transactionInvariants, transactionSettings, transfers } from './shared.ts';

/** A power loss may take single writes here, but no part of a transaction: its records are synced in every mode. */
export const transactionsSyncedLate: Scenario = {
  name: 'transactions-synced-late',
  description:
    'nodes that acknowledge single writes before they sync lose power amid transactions: each one is whole, or never was',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: { ...transfers, count: [80, 140] } },
  faults: [
    { kind: 'power-loss', count: [2, 4], forUs: [50_000, 1_000_000], always: true },
    { kind: 'process-crash', count: [1, 3], forUs: [20_000, 300_000], always: true },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: { ...smallStore, ...transactionSettings, sync: 50 },
  invariants: transactionInvariants,
};
