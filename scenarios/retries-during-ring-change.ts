import type { Scenario, TransactionLoad } from '../sim/plan/scenario.ts';
import { onTheMove, quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

/**
 * Most have an idempotency key, and nothing but that key keeps them from being applied twice: puts state no conditions
 * and have one primary.
 */
export const named: TransactionLoad = {
  ...transfers,
  clients: 6,
  count: [280, 400],
  thinkUs: [0, 120_000],
  namedPercent: 95,
  forcedPercent: 2,
  kinds: { transfer: 10, append: 10, stamp: 10, put: 70 },
  // Beside each triple is a single key, so each primary has several.
  structures: { accounts: 5, lists: 5, twins: 0, triples: 24 },
};

const clients = ['x0', 'x1', 'x2', 'x3', 'x4', 'x5'];

/** Clients retry soon or long after they have an answer. */
export const askedAgain: Scenario['faults'] = [
  { kind: 'late-retry', count: [40, 60], targets: clients, atUs: [1_500_000, 5_500_000], always: true },
  { kind: 'immediate-retry', count: [0, 20], targets: clients, params: { afterUs: [0, 8_000] } },
];

export const retriesDuringRingChange: Scenario = {
  name: 'retries-during-ring-change',
  description:
    'clients retry under the same idempotency key while a node joins and another leaves: each transaction is applied once',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r1' }],
  },
  load: { ...quietly, transactions: named },
  faults: [
    // Only n1 and n2 know what n3 misses; then n4 takes keys over from n1.
    {
      kind: 'network-partition',
      count: [1, 1],
      forUs: [500_000, 900_000],
      targets: ['n3'],
      sideMax: 1,
      atUs: [200_000, 700_000],
      always: true,
    },
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [1_200_000, 2_000_000], always: true },
    { kind: 'membership-change', count: [1, 1], targets: ['n1'], atUs: [3_000_000, 4_500_000], always: true },
    ...askedAgain,
    { kind: 'network-delay', count: [1, 4], forUs: [100_000, 1_500_000], always: true },
    {
      kind: 'message-filter',
      count: [0, 4],
      forUs: [100_000, 500_000],
      choices: { message: ['gossip', 'transactions'] },
    },
    { kind: 'connection-reset', count: [0, 6] },
    { kind: 'process-pause', count: [0, 2], forUs: [100_000, 700_000] },
  ],
  stormMs: 6_000,
  calmMs: 4_000,
  settleMsMax: 30_000,
  settings: { ...onTheMove, ...transactionSettings },
  invariants: { ...transactionInvariants, 'exactly-once': 60, 'ring-agreement': 4 },
};
