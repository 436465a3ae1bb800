import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const transactionsAcrossDatacenters: Scenario = {
  name: 'transactions-across-datacenters',
  description:
    'transactions at drawn levels over keys whose primaries are in both of two datacenters, which are far from each other and sometimes apart: what a level promises holds in the datacenter of the node that the client asked',
  cluster: { datacenters: 2, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: { ...transfers, onePercent: 10, eachPercent: 20 } },
  faults: [
    { kind: 'network-delay', count: [3, 8], forUs: [200_000, 1_500_000], always: true },
    { kind: 'network-partition', group: 'datacenter', count: [0, 2], forUs: [100_000, 800_000] },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 1_000_000] },
    { kind: 'power-loss', count: [0, 2], forUs: [50_000, 1_000_000] },
    { kind: 'process-pause', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
