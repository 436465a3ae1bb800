import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const longPauses: Scenario = {
  name: 'long-pauses',
  description: 'processes are paused, get the processor now and then, or are stopped in the middle of work',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, thinkUs: [0, 100_000] },
  // No new fault strikes in the last seconds: even if all nodes were paused or stopped at once, clients work again.
  faults: [
    { kind: 'process-pause', count: [1, 4], forUs: [10_000, 6_000_000], atUs: [0, 8_000_000], always: true },
    { kind: 'cpu-starvation', count: [0, 3], forUs: [200_000, 3_000_000], atUs: [0, 8_000_000] },
    { kind: 'graceful-restart', count: [0, 3], forUs: [10_000, 800_000], atUs: [0, 8_000_000] },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000], atUs: [0, 8_000_000] },
    { kind: 'connection-reset', count: [0, 4], atUs: [0, 8_000_000] },
  ],
  stormMs: 11_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants,
};
