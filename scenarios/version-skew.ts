import type { Scenario } from '../sim/plan/scenario.ts';
import { mendingAlone, mendingInvariants, seldomRead } from './shared.ts';

export const versionSkew: Scenario = {
  name: 'version-skew',
  description:
    'nodes return to hash trees of another version, of another node, truncated or extended: each is rejected for its reason',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: seldomRead,
  faults: [
    { kind: 'snapshot-version-skew', count: [2, 4], forUs: [10_000, 500_000], always: true },
    { kind: 'foreign-snapshot', count: [0, 2], forUs: [10_000, 500_000] },
    { kind: 'snapshot-truncation', count: [0, 2], forUs: [10_000, 500_000] },
    { kind: 'snapshot-bit-rot', count: [0, 2], forUs: [10_000, 500_000] },
    { kind: 'network-partition', count: [0, 2], forUs: [300_000, 1_500_000], sideMax: 1 },
  ],
  stormMs: 8_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: mendingAlone,
  invariants: { ...mendingInvariants, 'snapshot-rejection': 1 },
};
