import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const conditionalPuts: Scenario = {
  name: 'conditional-puts',
  description:
    'clients put on conditions, over HTTP and the binary protocol, while nodes crash and are cut off: nothing passes between a condition and its put at one coordinator',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [200, 300],
    keys: 8,
    siblingKeys: 8,
    thinkUs: [0, 15_000],
    kinds: { get: 40, put: 50, delete: 10 },
    manners: { httpPercent: 70, conditionalPercent: 60 },
  },
  faults: [
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 600_000] },
    { kind: 'power-loss', count: [0, 1], forUs: [100_000, 600_000] },
    { kind: 'network-partition', count: [0, 2], forUs: [100_000, 800_000], sideMax: 1 },
    { kind: 'message-duplication', count: [0, 2], forUs: [100_000, 800_000] },
    { kind: 'client-disconnect', count: [0, 4], params: { afterUs: [0, 8_000] } },
  ],
  stormMs: 2_500,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: { ...mending, request_timeout_ms: 1_000 },
  invariants: { ...invariants, 'conditional-puts': 20 },
};
