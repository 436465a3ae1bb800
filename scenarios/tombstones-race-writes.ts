import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday } from './shared.ts';
import { tombstonesRemoved } from './tombstones-removed.ts';

export const tombstonesRaceWrites: Scenario = {
  ...tombstonesRemoved,
  name: 'tombstones-race-writes',
  description:
    'clients write keys again just as their tombstones are removed, over links that are slow: no node removes what has replaced a tombstone',
  load: {
    ...everyday,
    clients: 8,
    operations: [700, 800],
    keys: 24,
    siblingKeys: 8,
    thinkUs: [0, 150_000],
    valueBytes: [16, 200],
    kinds: { get: 10, put: 50, delete: 40 },
  },
  faults: [
    {
      kind: 'network-delay',
      count: [12, 16],
      atUs: [0, 6_000_000],
      forUs: [2_000_000, 5_000_000],
      params: { minUs: [10_000, 30_000], meanUs: [40_000, 100_000] },
      always: true,
    },
    { kind: 'connection-reset', count: [0, 2] },
  ],
  stormMs: 9_000,
};
