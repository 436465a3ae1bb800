import type { Scenario } from '../sim/plan/scenario.ts';
import { mendingAlone, mendingInvariants, seldomRead } from './shared.ts';

/** By then every node has saved a tree; a node that dies earlier has none to return with. */
const hasSnapshot: [number, number] = [3_500_000, 8_500_000];

export const staleSnapshot: Scenario = {
  name: 'stale-snapshot',
  description:
    'nodes return with an old hash tree, after a crash or because an older snapshot was put back: no key that changed since is considered equal',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: seldomRead,
  faults: [
    {
      kind: 'stale-snapshot',
      count: [2, 4],
      forUs: [10_000, 500_000],
      params: { ageMs: [600, 2_500] },
      atUs: [4_000_000, 6_500_000],
      always: true,
    },
    { kind: 'process-crash', count: [1, 3], forUs: [10_000, 800_000], atUs: hasSnapshot, always: true },
    { kind: 'power-loss', count: [0, 2], forUs: [10_000, 800_000], atUs: hasSnapshot },
    // What is left of the log is older than the tree.
    {
      kind: 'log-truncation',
      count: [1, 1],
      targets: ['n3'],
      forUs: [10_000, 500_000],
      params: { permille: [0, 500] },
      atUs: hasSnapshot,
      always: true,
    },
    { kind: 'network-partition', count: [1, 3], forUs: [300_000, 2_000_000], sideMax: 1, always: true },
  ],
  stormMs: 9_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: mendingAlone,
  invariants: { ...mendingInvariants, 'stale-snapshot-safety': 1 },
};
