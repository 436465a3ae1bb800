import type { Scenario } from '../sim/plan/scenario.ts';
import { atEveryLevel, everyLevel, invariants } from './shared.ts';

export const calm: Scenario = {
  name: 'calm',
  description: 'nothing goes wrong: every operation is answered, and everything acknowledged is there',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: atEveryLevel,
  levels: everyLevel,
  faults: [],
  stormMs: 2_000,
  calmMs: 500,
  settleMsMax: 20_000,
  invariants: {
    ...invariants,
    durability: 250,
    'durable-before-ack': 20,
    'metrics-reconcile': 5_000,
    'valid-exposition': 40,
  },
};
