import type { Scenario } from '../sim/plan/scenario.ts';
import { swarmOf } from '../sim/plan/swarm/swarm.ts';
import { everyday } from './shared.ts';

const base = {
  name: 'swarm',
  description:
    'each seed draws its own cluster, configuration, loads and faults within the contract of faults, and judges all that they leave judgeable',
} as const;

export const swarm: Scenario = {
  ...base,
  // What follows is only the frame that the list shows; a seed draws all of it anew.
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: everyday,
  faults: [],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  invariants: { 'no-silent-failures': 1 },
  drawn: swarmOf(base),
};
