import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

/** Runs long after the clock is right again: a version with the wrong date was then dated by another one. */
export const oneWrongClock: Scenario = {
  name: 'one-wrong-clock',
  description: 'one clock is a day ahead for a second: no later write gets its date',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, operations: [240, 320], keys: 24, thinkUs: [50_000, 240_000] },
  faults: [
    {
      kind: 'clock-jump',
      count: [1, 1],
      targets: ['n1'],
      atUs: [300_000, 600_000],
      params: { byMs: [80_000_000, 86_400_000] },
      always: true,
    },
    // The operator sets the clock back.
    {
      kind: 'clock-skew',
      count: [1, 1],
      targets: ['n1'],
      atUs: [1_500_000, 2_000_000],
      params: { offsetMs: [-20, 20] },
      always: true,
    },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'process-crash', count: [0, 1], forUs: [50_000, 1_000_000], atUs: [0, 6_000_000] },
  ],
  stormMs: 12_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants: { ...invariants, 'timestamp-accuracy': 30 },
};
