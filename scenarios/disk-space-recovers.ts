import type { Scenario } from '../sim/plan/scenario.ts';
import { invariants, onDisks, smallStore } from './shared.ts';

export const diskSpaceRecovers: Scenario = {
  name: 'disk-space-recovers',
  description: 'disks fill up and get space again: their nodes accept writes again without a restart',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: onDisks,
  faults: [
    {
      kind: 'disk-full',
      count: [2, 5],
      forUs: [100_000, 2_000_000],
      params: { roomBytes: [0, 40_000] },
      always: true,
    },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'process-crash', count: [0, 1], forUs: [50_000, 800_000] },
  ],
  stormMs: 4_000,
  calmMs: 4_000,
  settleMsMax: 30_000,
  settings: smallStore,
  // Nodes refuse many requests.
  invariants: { ...invariants, 'durable-before-ack': 4, causality: 60, 'session-guarantees': 5 },
};
