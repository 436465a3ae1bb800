import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

export const tornLogTail: Scenario = {
  name: 'torn-log-tail',
  description:
    'the power fails in the middle of a write to the log: recovery truncates the torn tail, and acknowledged writes stay',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    thinkUs: [0, 15_000],
    valueBytes: [200, 6_000],
    kinds: { get: 20, put: 76, delete: 4 },
  },
  faults: [
    {
      kind: 'torn-write',
      count: [2, 6],
      forUs: [50_000, 700_000],
      // Between the write and the sync that covers it.
      after: { event: 'disk.file.written', nth: [5, 300], delayUs: [0, 500] },
      always: true,
    },
    { kind: 'power-loss', count: [0, 2], forUs: [50_000, 700_000] },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
  ],
  stormMs: 3_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  invariants,
};
