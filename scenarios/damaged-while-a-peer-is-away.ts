import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariantsOfLoss } from './shared.ts';

export const damagedWhileAPeerIsAway: Scenario = {
  name: 'damaged-while-a-peer-is-away',
  description:
    'n1 starts with lost records while n2, which alone still holds what n3 missed, is away: until it is back, n1 answers no key as absent that it may have lost',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    clients: 4,
    operations: [380, 460],
    keys: 240,
    siblingKeys: 120,
    thinkUs: [5_000, 110_000],
    valueBytes: [1, 12],
    kinds: { get: 60, put: 39, delete: 1 },
    needs: { quorum: 100 },
    malformedInput: [0, 1],
    scrapes: [2, 4],
  },
  faults: [
    // n3 misses writes, before any exchange with n2 has begun.
    {
      kind: 'network-partition',
      count: [1, 1],
      targets: ['n3'],
      atUs: [0, 50_000],
      forUs: [1_950_000, 2_100_000],
      always: true,
    },
    {
      kind: 'bit-rot',
      count: [16, 28],
      targets: ['n1'],
      choices: { role: ['log'] },
      atUs: [1_500_000, 1_700_000],
      always: true,
    },
    // Before n3 is back, n2 goes, and n1 starts anew.
    {
      kind: 'process-crash',
      count: [1, 1],
      targets: ['n2'],
      atUs: [1_800_000, 1_850_000],
      forUs: [3_000_000, 3_400_000],
      always: true,
    },
    {
      kind: 'process-crash',
      count: [1, 1],
      targets: ['n1'],
      atUs: [1_800_000, 1_850_000],
      forUs: [20_000, 60_000],
      always: true,
    },
  ],
  stormMs: 5_500,
  calmMs: 1_500,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: {
    hinted_handoff: false,
    read_repair_percent: 0,
    store_segment_bytes_max: 8_192,
    aae_segments: 256,
    aae_tick_interval_seconds: 2,
    aae_full_sweep_interval_seconds: 5,
  },
  invariants: { ...invariantsOfLoss, convergence: 20, 'data-integrity': 0 },
};
