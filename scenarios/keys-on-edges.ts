import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariantsOnTheMove, jobLoad, mending, onTheMove } from './shared.ts';

export const keysOnEdges: Scenario = {
  name: 'keys-on-edges',
  description:
    'keys lie exactly on the edges of ranges while a node joins, another leaves and nodes crash: each edge has one owner in a rack, and no listing leaves it out',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 2,
    spares: [{ name: 'n7', datacenter: 'dc1', rack: 'r1' }],
  },
  load: { ...everyday, operations: [120, 160], keys: 40, siblingKeys: 4, thinkUs: [0, 60_000] },
  jobs: { ...jobLoad, count: [8, 12], thinkUs: [0, 500_000], kinds: { objects: 20, count: 10, whole: 70 } },
  faults: [
    { kind: 'membership-change', count: [0, 2], targets: ['n7', 'n6'], atUs: [500_000, 3_000_000] },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 4_500,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: { ...onTheMove, ...mending, aae_enabled: true, tokens_at_keys: true },
  invariants: {
    ...invariantsOnTheMove,
    'exchange-soundness': 0,
    'repair-soundness': 0,
    'wasm-purity': 20,
    listings: 20,
  },
};
