import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const clockJumps: Scenario = {
  name: 'clock-jumps',
  description:
    'wall clocks drift, jump, oscillate and freeze, timers fire early and late: no promise depends on them',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, thinkUs: [0, 150_000] },
  faults: [
    { kind: 'clock-skew', count: [0, 3] },
    { kind: 'clock-jump', count: [1, 5], always: true },
    // The clock is set back while a node is silent: a detector that measures silence by the wall clock never notices.
    {
      kind: 'clock-jump',
      count: [2, 4],
      atUs: [4_000_000, 6_000_000],
      params: { byMs: [-86_400_000, -10_000] },
      always: true,
    },
    { kind: 'clock-strobe', count: [0, 2], forUs: [100_000, 2_000_000] },
    { kind: 'clock-freeze', count: [0, 3], forUs: [100_000, 2_000_000] },
    { kind: 'timer-jitter', count: [0, 3], forUs: [100_000, 3_000_000] },
    {
      kind: 'process-pause',
      count: [1, 1],
      forUs: [4_500_000, 5_400_000],
      atUs: [4_000_000, 5_500_000],
      always: true,
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 11_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: { ...mending, gossip_interval_ms: 100, phi_mean_ms_min: 100, phi_threshold_milli: 2000 },
  invariants: { ...invariants, 'timestamp-accuracy': 20 },
};
