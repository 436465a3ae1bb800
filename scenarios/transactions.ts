import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const transactions: Scenario = {
  name: 'transactions',
  description: 'transactions of every kind under many faults: each is atomic, serializable and applied once',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: transfers },
  faults: [
    { kind: 'process-crash', count: [1, 3], forUs: [50_000, 1_000_000] },
    { kind: 'power-loss', count: [1, 3], forUs: [50_000, 1_000_000] },
    { kind: 'torn-write', count: [0, 2], forUs: [50_000, 700_000] },
    { kind: 'sync-error', count: [1, 1], forUs: [50_000, 700_000], params: { oneIn: [1, 5] } },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    { kind: 'network-partition', count: [1, 3], forUs: [100_000, 1_500_000], sideMax: 1 },
    { kind: 'one-way-partition', count: [1, 2], forUs: [100_000, 1_000_000], sideMax: 1 },
    { kind: 'connection-reset', count: [0, 4] },
    { kind: 'process-pause', count: [1, 3], forUs: [100_000, 1_500_000] },
    { kind: 'graceful-restart', count: [0, 2], forUs: [10_000, 800_000] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
