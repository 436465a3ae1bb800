import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariantsOfLoss } from './shared.ts';

export const writesOverBitRot: Scenario = {
  name: 'writes-over-bit-rot',
  description: 'clients write keys, unread, whose copies rot on one node: every value is there, as siblings',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [200, 300],
    keys: 24,
    siblingKeys: 24,
    thinkUs: [5_000, 100_000],
    valueBytes: [200, 3_000],
    kinds: { get: 4, put: 94, delete: 2 },
    // One copy may rot: a write can be read back at a quorum only if all replicas acknowledged it.
    needs: { all: 100 },
  },
  faults: [
    { kind: 'bit-rot', count: [20, 40], targets: ['n3'], choices: { role: ['log'] }, always: true },
    // Merges take long on a slow disk: some are under way when sizes are compared, or when a node stops.
    {
      kind: 'slow-disk',
      count: [1, 2],
      forUs: [500_000, 1_500_000],
      params: { meanUs: [2_000, 10_000], tailUs: [0, 20_000] },
    },
  ],
  stormMs: 5_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  // Merges of the log find rotten bytes. Only writes, and the reads at the end, repair them.
  settings: {
    hinted_handoff: false,
    aae_enabled: false,
    read_repair_percent: 100,
    store_segment_bytes_max: 65_536,
  },
  invariants: {
    ...invariantsOfLoss,
    causality: 1_500,
    'quorum-intersection': 50,
    'session-guarantees': 0,
    liveness: 10,
  },
};
