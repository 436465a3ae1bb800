import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, jobLoad } from './shared.ts';

export const listingsInPages: Scenario = {
  name: 'listings-in-pages',
  description:
    'nodes list a bucket to one another a few names a page, while nodes crash and are cut off: a listing names each key that the majority holds, once',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [140, 200],
    keys: 80,
    siblingKeys: 20,
    thinkUs: [0, 60_000],
    kinds: { get: 10, put: 84, delete: 6 },
    needs: { quorum: 100 },
  },
  jobs: { ...jobLoad, count: [24, 36], thinkUs: [0, 500_000], kinds: { objects: 20, count: 20, whole: 60 } },
  faults: [
    { kind: 'network-partition', count: [0, 2], forUs: [300_000, 1_500_000], sideMax: 2 },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 7_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  settings: { peer_page_items: 1, num_tokens: 3 },
  invariants: { ...invariants, 'session-guarantees': 0, 'wasm-purity': 100, listings: 40 },
};
