import type { Scenario } from '../sim/plan/scenario.ts';
import { askedAgain, named } from './retries-during-ring-change.ts';
import { mendingAlone, quietly, transactionInvariants, transactionSettings } from './shared.ts';

export const retriesAfterDiskLoss: Scenario = {
  name: 'retries-after-disk-loss',
  description:
    'clients retry under the same idempotency key what a node applied before it lost its disk: each transaction is applied once',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  // What only one replica acknowledged is lost with its disk.
  load: { ...quietly, transactions: { ...named, onePercent: 0 } },
  faults: [
    {
      kind: 'disk-wipe',
      count: [1, 1],
      forUs: [100_000, 600_000],
      targets: ['n1'],
      atUs: [1_000_000, 2_500_000],
      always: true,
    },
    ...askedAgain,
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 800_000] },
    { kind: 'network-partition', count: [0, 2], forUs: [200_000, 1_500_000], sideMax: 1 },
    { kind: 'process-pause', count: [0, 2], forUs: [100_000, 2_000_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 60_000,
  repairedBy: 'sweeps',
  settings: { ...transactionSettings, ...mendingAlone },
  invariants: { ...transactionInvariants, 'exactly-once': 60 },
};
