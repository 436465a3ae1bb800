import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

export const hintStoreFails: Scenario = {
  name: 'hint-store-fails',
  description:
    'a node whose hint store has failed holds hints that it cannot remove: their replica gets each once, and the node serves its share',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [130, 190],
    thinkUs: [0, 60_000],
    keys: 40,
    kinds: { get: 15, put: 80, delete: 5 },
    needs: { one: 50, quorum: 50 },
  },
  faults: [
    // Its peers gather hints.
    {
      kind: 'process-crash',
      targets: ['n3'],
      count: [1, 1],
      atUs: [300_000, 600_000],
      forUs: [1_200_000, 1_800_000],
      always: true,
    },
    // A hint store fails at one of its next writes or removals, and is not opened again before the disk is repaired.
    ...(['write-error', 'sync-error'] as const).map((kind) => ({
      kind,
      targets: ['n1', 'n2'],
      count: [1, 1] as const,
      atUs: [1_200_000, 2_200_000] as const,
      forUs: [6_000_000, 7_500_000] as const,
      params: { oneIn: [1, 3] as const },
      choices: { role: ['hints'] },
      always: true,
    })),
    { kind: 'network-partition', count: [0, 1], forUs: [300_000, 1_200_000], sideMax: 1 },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 9_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: {
    hint_drain_interval_ms: 500,
    request_timeout_ms: 700,
    gossip_interval_ms: 100,
    phi_mean_ms_min: 100,
    phi_threshold_milli: 2000,
  },
  invariants: { ...invariants, durability: 20, 'session-guarantees': 0, 'hint-delivery': 30 },
};
