import type { Scenario } from '../sim/plan/scenario.ts';
import { named } from './retries-during-ring-change.ts';
import { quietly, transactionInvariants, transactionSettings } from './shared.ts';

const clients = ['x0', 'x1', 'x2', 'x3', 'x4', 'x5'];

export const retriesThroughOtherNodes: Scenario = {
  name: 'retries-through-other-nodes',
  description:
    'coordinators crash and links break under transactions with an idempotency key, others use the same keys, and clients retry through other nodes at once: a definite answer is final',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...quietly,
    transactions: {
      ...named,
      thinkUs: [0, 60_000],
      namedPercent: 75,
      kinds: { transfer: 15, append: 10, stamp: 35, put: 40 },
      structures: { accounts: 4, lists: 3, twins: 0, triples: 4 },
    },
  },
  faults: [
    // Clients disconnect before they have an answer, and retry at once through another node.
    {
      kind: 'immediate-retry',
      count: [40, 80],
      targets: clients,
      params: { afterUs: [0, 6_000] },
      always: true,
    },
    { kind: 'late-retry', count: [40, 60], targets: clients, atUs: [800_000, 5_500_000], always: true },
    // What was sent over a partitioned link arrives once the partition heals.
    { kind: 'network-delay', count: [6, 12], forUs: [100_000, 1_200_000], always: true },
    { kind: 'network-partition', count: [1, 3], forUs: [100_000, 900_000], sideMax: 1, always: true },
    { kind: 'process-crash', count: [3, 6], forUs: [50_000, 700_000], always: true },
    { kind: 'process-pause', count: [1, 3], forUs: [100_000, 900_000], always: true },
    { kind: 'power-loss', count: [0, 1], forUs: [50_000, 400_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  settings: transactionSettings,
  invariants: { ...transactionInvariants, 'exactly-once': 100 },
};
