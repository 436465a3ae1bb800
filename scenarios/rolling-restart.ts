import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

export const rollingRestart: Scenario = {
  name: 'rolling-restart',
  description:
    'nodes are stopped in order and restarted under load: each announces its stop, and nothing is lost',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, thinkUs: [0, 80_000] },
  faults: [
    { kind: 'graceful-restart', count: [3, 8], forUs: [10_000, 800_000], always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 800_000] },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 8_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  invariants,
};
