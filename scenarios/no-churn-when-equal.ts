import type { Scenario } from '../sim/plan/scenario.ts';
import { mendingAlone, mendingInvariants, seldomRead } from './shared.ts';

export const noChurnWhenEqual: Scenario = {
  name: 'no-churn-when-equal',
  description: 'equal replicas compare repeatedly, after restarts too, and repair nothing',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...seldomRead, operations: [100, 160], thinkUs: [0, 40_000] },
  faults: [
    { kind: 'graceful-restart', count: [1, 3], forUs: [10_000, 300_000], always: true },
    { kind: 'leaf-corruption', count: [0, 2], forUs: [10_000, 300_000] },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
    // No leaf depends on the time.
    { kind: 'clock-skew', count: [0, 2] },
    { kind: 'clock-jump', count: [0, 3] },
  ],
  stormMs: 6_000,
  calmMs: 12_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: mendingAlone,
  // Half as many operations as elsewhere.
  invariants: { ...mendingInvariants, causality: 150, 'exchange-soundness': 60, 'repair-soundness': 100 },
};
