import type { Scenario } from '../sim/plan/scenario.ts';
import { mendingAlone, mendingInvariants, seldomRead } from './shared.ts';

export const bitRotRepaired: Scenario = {
  name: 'bit-rot-repaired',
  description:
    'stored bits flip on one node: a sweep or the next start finds the damage, and the other replicas restore the data',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  // One copy may rot: a write can be read back at a quorum only if all replicas acknowledged it.
  load: { ...seldomRead, needs: { all: 100 } },
  faults: [
    { kind: 'bit-rot', count: [2, 5], targets: ['n3'], choices: { role: ['log'] }, always: true },
    { kind: 'graceful-restart', count: [0, 2], forUs: [10_000, 500_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 8_000,
  calmMs: 4_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: { ...mendingAlone, aae_full_sweep_interval_seconds: 3 },
  invariants: { ...mendingInvariants, 'exchange-soundness': 5 },
};
