import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, jobLoad } from './shared.ts';

export const jobsOverMissedWrites: Scenario = {
  name: 'jobs-over-missed-writes',
  description:
    'a replica that was cut off lacks keys, and no hint or exchange brings them: a job finds each key that the majority holds',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [120, 180],
    keys: 40,
    siblingKeys: 10,
    thinkUs: [0, 60_000],
    kinds: { get: 10, put: 90 },
    needs: { quorum: 100 },
  },
  jobs: { ...jobLoad, count: [40, 60], thinkUs: [0, 500_000] },
  faults: [
    {
      kind: 'network-partition',
      count: [1, 1],
      forUs: [1_500_000, 2_500_000],
      atUs: [0, 200_000],
      sideMax: 1,
      always: true,
    },
  ],
  stormMs: 12_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  settings: { hinted_handoff: false, aae_enabled: false, read_repair_percent: 100 },
  invariants: {
    durability: 60,
    // Clients read little here, and jobs read everything.
    'session-guarantees': 1,
    'wasm-purity': 200,
    listings: 60,
    'no-silent-failures': invariants['no-silent-failures'] ?? 1,
    determinism: 1,
  },
};
