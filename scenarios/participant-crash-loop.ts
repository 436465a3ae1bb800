import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const participantCrashLoop: Scenario = {
  name: 'participant-crash-loop',
  description:
    'a node crashes repeatedly while it prepares, receives decisions and recovers: every branch is applied once',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, transactions: transfers },
  faults: [
    {
      kind: 'process-crash',
      count: [4, 8],
      forUs: [20_000, 150_000],
      targets: ['n2'],
      after: { event: 'xa.p.decision.recv', nth: [1, 25], delayUs: [0, 1_500] },
      always: true,
    },
    {
      kind: 'power-loss',
      count: [2, 4],
      forUs: [20_000, 150_000],
      targets: ['n2'],
      after: { event: 'xa.p.recovery.scan', nth: [1, 6], delayUs: [0, 20_000] },
    },
    {
      kind: 'power-loss',
      count: [2, 4],
      forUs: [20_000, 150_000],
      targets: ['n2'],
      after: { event: 'xa.p.applied', nth: [1, 25], delayUs: [0, 1_000] },
    },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: transactionInvariants,
};
