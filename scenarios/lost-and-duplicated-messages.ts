import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const lostAndDuplicatedMessages: Scenario = {
  name: 'lost-and-duplicated-messages',
  description:
    'messages are lost, duplicated, replayed and reordered, and connections end for one side only: each write takes effect once',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: everyday,
  faults: [
    { kind: 'message-loss', count: [1, 3], forUs: [200_000, 2_000_000], params: { oneIn: [4, 40] } },
    {
      kind: 'message-duplication',
      count: [1, 3],
      forUs: [200_000, 2_000_000],
      params: { delayMsMax: [1, 4_000] },
      always: true,
    },
    { kind: 'message-replay', count: [1, 3], forUs: [200_000, 2_000_000] },
    { kind: 'message-reordering', count: [1, 3], forUs: [200_000, 2_000_000] },
    { kind: 'message-filter', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'half-open-connection', count: [0, 4] },
    { kind: 'stream-fragmentation', count: [0, 2], forUs: [200_000, 2_000_000] },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 800_000] },
  ],
  stormMs: 5_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants,
};
