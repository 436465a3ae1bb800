import type { Scenario } from '../sim/scenario/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const clockJumps: Scenario = {
  name: 'clock-jumps',
  story: 'wall clocks drift, jump, swing and stand, timers come early and late: nobody trusts them',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: everyday,
  faults: [
    { kind: 'FC1', count: [0, 3] },
    { kind: 'FC2', count: [1, 5], always: true },
    { kind: 'FC3', count: [0, 2], forUs: [100_000, 2_000_000] },
    { kind: 'FC4', count: [0, 3], forUs: [100_000, 2_000_000] },
    { kind: 'FC5', count: [0, 3], forUs: [100_000, 3_000_000] },
    { kind: 'FP1', count: [0, 2], forUs: [50_000, 1_000_000] },
    { kind: 'FN1', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'FN11', count: [0, 4] },
  ],
  stormMs: 5_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  mendedBy: 'sweeps',
  settings: mending,
  invariants,
};
