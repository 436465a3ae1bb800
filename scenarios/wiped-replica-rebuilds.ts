import type { Scenario } from '../sim/plan/scenario.ts';
import { mendingAlone, mendingInvariants, seldomRead } from './shared.ts';

export const wipedReplicaRebuilds: Scenario = {
  name: 'wiped-replica-rebuilds',
  description: 'a node returns with an empty or an older disk: the other replicas restore what it lacks',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  // One copy may be lost: a write can be read back at a quorum only if all replicas acknowledged it.
  load: { ...seldomRead, needs: { all: 100 } },
  faults: [
    { kind: 'disk-wipe', count: [1, 2], forUs: [10_000, 900_000], targets: ['n3'], always: true },
    {
      kind: 'disk-rollback',
      count: [0, 2],
      forUs: [10_000, 500_000],
      params: { ageMs: [200, 3_000] },
      targets: ['n3'],
    },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
  ],
  stormMs: 8_000,
  calmMs: 4_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: mendingAlone,
  invariants: mendingInvariants,
};
