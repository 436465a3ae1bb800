import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const versionMix: Scenario = {
  name: 'version-mix',
  description:
    'a node speaks another version of the wire format for a while: its peers refuse and count its frames',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: everyday,
  faults: [
    { kind: 'wire-version-skew', count: [1, 2], forUs: [300_000, 2_000_000], always: true },
    { kind: 'connection-reset', count: [1, 5], always: true },
  ],
  stormMs: 5_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants,
};
