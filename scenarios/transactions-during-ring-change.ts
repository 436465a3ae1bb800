import type { Scenario } from '../sim/plan/scenario.ts';
import { onTheMove, quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const transactionsDuringRingChange: Scenario = {
  name: 'transactions-during-ring-change',
  description:
    'a node joins and another leaves under transactions, so keys change primaries, and nodes stop in order amid that: each key has one primary at a time',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r1' }],
  },
  load: {
    ...quietly,
    transactions: { ...transfers, count: [240, 320], thinkUs: [0, 50_000] },
  },
  faults: [
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [300_000, 1_500_000], always: true },
    { kind: 'membership-change', count: [1, 1], targets: ['n1'], atUs: [4_000_000, 5_000_000], always: true },
    { kind: 'network-delay', count: [1, 4], forUs: [100_000, 1_500_000], always: true },
    {
      kind: 'message-filter',
      count: [0, 3],
      forUs: [100_000, 800_000],
      choices: { message: ['gossip'] },
    },
    {
      kind: 'message-filter',
      count: [1, 2],
      forUs: [300_000, 1_800_000],
      targets: ['n1'],
      atUs: [400_000, 1_800_000],
      sideMax: 1,
      choices: { message: ['gossip'] },
      // A branch that n1 executes by the old ring waits at n4, which refuses it after a second.
      after: { event: 'membership.move.declared', host: 'n4', nth: [2, 2], delayUs: [0, 100_000] },
    },
    {
      kind: 'graceful-restart',
      count: [1, 3],
      targets: ['n1', 'n2', 'n3'],
      forUs: [10_000, 200_000],
      atUs: [400_000, 2_500_000],
      // A coordinator tries again for a quarter of a second while a key changes hands.
      after: { event: 'xa.attempt.repeated', nth: [1, 4], delayUs: [0, 80_000] },
      always: true,
    },
    {
      kind: 'graceful-restart',
      count: [0, 1],
      targets: ['n1'],
      forUs: [10_000, 200_000],
      atUs: [4_500_000, 6_500_000],
      after: { event: 'membership.left', nth: [1, 1], delayUs: [0, 60_000] },
    },
    { kind: 'connection-reset', count: [0, 4] },
    { kind: 'process-pause', count: [0, 2], forUs: [100_000, 700_000] },
  ],
  stormMs: 7_000,
  calmMs: 4_000,
  settleMsMax: 30_000,
  settings: { ...onTheMove, ...transactionSettings, drain_timeout_ms: 50 },
  invariants: { ...transactionInvariants, 'ring-agreement': 4 },
};
