import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

export const standbyAndReturn: Scenario = {
  name: 'standby-and-return',
  description:
    'an operator puts a member in STANDBY under load and takes it back, and nodes die meanwhile: it serves no client and is read last, and has every write when it returns',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [300, 400],
    keys: 24,
    siblingKeys: 12,
    thinkUs: [10_000, 160_000],
    kinds: { get: 50, put: 46, delete: 4 },
  },
  faults: [
    {
      kind: 'node-standby',
      count: [1, 1],
      atUs: [0, 500_000],
      forUs: [5_000_000, 7_500_000],
      always: true,
    },
    // The node that dies may be the one in STANDBY; it is still in STANDBY when it returns.
    {
      kind: 'process-crash',
      count: [1, 2],
      forUs: [200_000, 1_500_000],
      atUs: [4_000_000, 5_500_000],
      always: true,
    },
    { kind: 'power-loss', count: [0, 1], forUs: [200_000, 1_000_000], atUs: [4_000_000, 5_500_000] },
    { kind: 'connection-reset', count: [0, 2], atUs: [4_000_000, 8_000_000] },
  ],
  stormMs: 9_000,
  calmMs: 5_000,
  settleMsMax: 30_000,
  // No sweep compares replicas: after its return the member has only what it got as writes, as hints, or by reads.
  settings: { aae_enabled: false, gossip_interval_ms: 100, hint_drain_interval_ms: 500 },
  invariants: { ...invariants, 'standby-routing': 40 },
};
