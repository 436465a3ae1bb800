import type { Scenario } from '../sim/plan/scenario.ts';
import { atEveryLevel, everyLevel, invariants } from './shared.ts';

export const crashAndRestart: Scenario = {
  name: 'crash-and-restart',
  description:
    'nodes crash and restart, with and without what they had not synced: no acknowledged write is lost',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: atEveryLevel,
  levels: everyLevel,
  faults: [
    { kind: 'process-crash', count: [1, 4], forUs: [50_000, 1_000_000] },
    {
      kind: 'power-loss',
      count: [1, 4],
      forUs: [50_000, 1_000_000],
      // Around a sync: what it covered must be there, what came after it need not.
      after: { event: 'disk.file.synced', nth: [5, 150], delayUs: [0, 3_000] },
      always: true,
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  invariants,
};
