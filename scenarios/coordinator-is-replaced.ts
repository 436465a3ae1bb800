import type { Scenario } from '../sim/plan/scenario.ts';
import { onTheMove, quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const coordinatorIsReplaced: Scenario = {
  name: 'coordinator-is-replaced',
  description:
    'a node dies with transactions under way and is replaced: the replacement ends what it coordinated, applies what it had voted for, and no record of it remains',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r2', replaces: 'n2' }],
  },
  load: { ...quietly, transactions: transfers },
  faults: [
    {
      kind: 'membership-change',
      count: [1, 1],
      targets: ['n4'],
      // n2 dies just after it has voted, or has received a vote.
      after: { event: 'xa.p.vote.sent', host: 'n2', nth: [5, 30], delayUs: [0, 600] },
      atUs: [600_000, 3_000_000],
      always: true,
    },
    {
      kind: 'network-clog',
      count: [1, 2],
      targets: ['n1', 'n3'],
      sideMax: 1,
      // What n4 asks while it takes over is answered late.
      after: { event: 'membership.move.declared', host: 'n4', nth: [2, 2], delayUs: [0, 100_000] },
      forUs: [100_000, 800_000],
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 9_000,
  calmMs: 4_000,
  settleMsMax: 40_000,
  settings: { ...onTheMove, ...transactionSettings, phi_threshold_milli: 3_000 },
  invariants: { ...transactionInvariants, 'no-dangling-transactions': 2, 'ring-agreement': 3 },
};
