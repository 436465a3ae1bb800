import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

export const rollingUpgrade: Scenario = {
  name: 'rolling-upgrade',
  description:
    'nodes are stopped in order and started as the build before, or as today’s again, under load and faults: any mix of both serves, and nothing is lost',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, thinkUs: [0, 80_000] },
  faults: [
    { kind: 'build-change', count: [4, 9], forUs: [10_000, 600_000], always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 800_000] },
    { kind: 'network-partition', count: [0, 1], forUs: [200_000, 1_000_000], sideMax: 1 },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 8_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  invariants,
};
