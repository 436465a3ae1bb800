import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

export const flappingPeer: Scenario = {
  name: 'flapping-peer',
  description:
    'peers are silent for longer than is tolerated and return, again and again: requests go to live replicas',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, thinkUs: [0, 120_000] },
  // Heartbeats are frequent and the tolerated silence is short, so that a storm contains many failures and returns.
  settings: { gossip_interval_ms: 100, phi_mean_ms_min: 100, phi_threshold_milli: 2000 },
  faults: [
    { kind: 'process-pause', count: [3, 8], forUs: [100_000, 2_000_000], always: true },
    { kind: 'network-partition', count: [1, 4], forUs: [300_000, 1_500_000], sideMax: 1, always: true },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 10_000,
  calmMs: 2_500,
  settleMsMax: 30_000,
  invariants,
};
