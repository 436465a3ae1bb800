import type { Scenario } from '../sim/plan/scenario.ts';
import { quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const singlePutBatches: Scenario = {
  name: 'single-put-batches',
  description:
    'batches of one put through every node: messages are duplicated, primaries crash during them, and clocks go back',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...quietly,
    transactions: {
      ...transfers,
      clients: 6,
      count: [120, 200],
      thinkUs: [0, 30_000],
      kinds: { append: 45, put: 40, look: 15 },
      structures: { accounts: 2, lists: 3, twins: 1, triples: 2 },
      placesMax: 1,
      namedPercent: 10,
    },
  },
  faults: [
    {
      kind: 'process-crash',
      count: [2, 5],
      forUs: [50_000, 400_000],
      after: { event: 'xa.p.applied', nth: [1, 60], delayUs: [0, 600] },
      always: true,
    },
    {
      kind: 'power-loss',
      count: [1, 3],
      forUs: [50_000, 400_000],
      after: { event: 'xa.p.applied', nth: [1, 60], delayUs: [0, 600] },
    },
    { kind: 'clock-jump', count: [2, 6], params: { byMs: [-60_000, -1_000] }, always: true },
    {
      kind: 'message-duplication',
      count: [2, 4],
      forUs: [800_000, 3_000_000],
      params: { oneIn: [1, 5], delayMsMax: [1, 1_500] },
      always: true,
    },
    { kind: 'message-loss', count: [0, 2], forUs: [200_000, 1_500_000], params: { oneIn: [4, 40] } },
    { kind: 'network-partition', count: [0, 2], forUs: [100_000, 700_000], sideMax: 1 },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: { ...transactionInvariants, 'lock-exclusivity': 0 },
};
