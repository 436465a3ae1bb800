import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

export const oneWayPartition: Scenario = {
  name: 'one-way-partition',
  description:
    "some nodes' messages, or messages to them, are lost in one direction: no acknowledged write is lost",
  cluster: { datacenters: 1, racks: 5, nodesPerRack: 1 },
  load: { ...everyday, operations: [300, 450], thinkUs: [0, 80_000] },
  settings: { gossip_interval_ms: 200, phi_mean_ms_min: 200, phi_threshold_milli: 3000 },
  faults: [
    { kind: 'one-way-partition', count: [2, 5], forUs: [200_000, 4_000_000], sideMax: 2, always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 1_000_000] },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
  ],
  stormMs: 8_000,
  calmMs: 2_500,
  settleMsMax: 30_000,
  invariants: { ...invariants, 'metrics-reconcile': 6_000, 'valid-exposition': 50 },
};
