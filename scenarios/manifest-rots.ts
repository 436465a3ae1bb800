import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOfLoss, onDisks, smallStore } from './shared.ts';

/** Where the two copies of a store's manifest lie, in thousandths of both manifests: that of the hints comes first. */
const copies = [
  [499, 510],
  [988, 999],
] as const;

export const manifestRots: Scenario = {
  name: 'manifest-rots',
  description:
    'bits flip in both copies of a manifest, and its node crashes: it refuses the store, and changes nothing of what an operator may rescue',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: onDisks,
  faults: [
    ...copies.map((permille) => ({
      kind: 'bit-rot' as const,
      count: [3, 6] as const,
      targets: ['n2'],
      atUs: [200_000, 3_000_000] as const,
      params: { permille },
      choices: { role: ['manifest'] },
      always: true,
    })),
    {
      kind: 'process-crash',
      count: [3, 5],
      targets: ['n2'],
      atUs: [500_000, 3_500_000],
      forUs: [20_000, 200_000],
      always: true,
    },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  settings: smallStore,
  invariants: { ...invariantsOfLoss, 'data-integrity': 0 },
};
