import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const wipedDiskReturns: Scenario = {
  name: 'wiped-disk-returns',
  description:
    'a node returns without its disk, or with an old one: no dot is used twice, and nothing is lost',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    thinkUs: [0, 100_000],
    kinds: { get: 30, put: 66, delete: 4 },
    needs: { all: 55, quorum: 45 },
  },
  faults: [
    {
      kind: 'disk-wipe',
      count: [1, 1],
      forUs: [50_000, 1_000_000],
      atUs: [500_000, 3_000_000],
      always: true,
    },
    { kind: 'disk-rollback', count: [0, 1], forUs: [50_000, 800_000], atUs: [0, 3_000_000] },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_500_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 60_000,
  repairedBy: 'sweeps',
  settings: mending,
  invariants,
};
