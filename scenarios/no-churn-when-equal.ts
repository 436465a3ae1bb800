import type { Scenario } from '../sim/plan/scenario.ts';
import { mendingAlone, mendingInvariants, seldomRead } from './shared.ts';

export const noChurnWhenEqual: Scenario = {
  name: 'no-churn-when-equal',
  story: 'replicas that hold the same find that out over and over, after restarts too, and repair nothing',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...seldomRead, operations: [100, 160], thinkUs: [0, 40_000] },
  faults: [
    { kind: 'FP7', count: [1, 3], forUs: [10_000, 300_000], always: true },
    { kind: 'FS10', count: [0, 2], forUs: [10_000, 300_000] },
    { kind: 'FN1', count: [0, 2], forUs: [100_000, 1_000_000] },
    // No leaf knows what time it is.
    { kind: 'FC1', count: [0, 2] },
    { kind: 'FC2', count: [0, 3] },
  ],
  stormMs: 6_000,
  calmMs: 12_000,
  settleMsMax: 30_000,
  mendedBy: 'sweeps',
  settings: mendingAlone,
  // Half as many operations as elsewhere.
  invariants: { ...mendingInvariants, INV9: 150, INV11: 60, INV12: 100 },
};
