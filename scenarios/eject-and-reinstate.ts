import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const ejectAndReinstate: Scenario = {
  name: 'eject-and-reinstate',
  description:
    'a peer is repeatedly silent for about as long as tolerated: requests avoid it and return to it each time',
  cluster: { datacenters: 1, racks: 5, nodesPerRack: 1 },
  load: { ...everyday, thinkUs: [0, 180_000] },
  faults: [
    {
      kind: 'node-flapping',
      count: [1, 2],
      forUs: [3_000_000, 6_000_000],
      atUs: [0, 3_000_000],
      params: { awayMs: [500, 1500], hereMs: [100, 1200] },
      always: true,
    },
    { kind: 'network-partition', count: [1, 3], forUs: [1_500_000, 4_000_000], sideMax: 2, always: true },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
  ],
  stormMs: 10_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  // Two rounds of gossip among five nodes take up to 700 ms; with a shorter limit, chance alone would raise suspicion.
  settings: { ...mending, gossip_interval_ms: 100, phi_mean_ms_min: 100, phi_threshold_milli: 3500 },
  invariants,
};
