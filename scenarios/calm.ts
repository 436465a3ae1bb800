import type { Scenario } from '../sim/plan/scenario.ts';
import { atEveryLevel, everyLevel, invariants } from './shared.ts';

export const calm: Scenario = {
  name: 'calm',
  story: 'nothing goes wrong: every operation is answered, and everything acknowledged is there',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: atEveryLevel,
  levels: everyLevel,
  faults: [],
  stormMs: 2_000,
  calmMs: 500,
  settleMsMax: 20_000,
  invariants: { ...invariants, INV4: 250, INV5: 20, INV24: 5_000, INV26: 40 },
};
