import type { Scenario } from '../sim/plan/scenario.ts';
import { cutOffInTurn, everyday } from './shared.ts';

/** Two replicas, of which a quorum is both, and neither hints nor sweeps: many reads find copies that differ. */
export const readsThatMustAgree: Scenario = {
  name: 'reads-that-must-agree',
  description:
    'replicas miss writes, and clients read at the SAFE levels: a read that finds copies which differ repairs them, and answers',
  cluster: { datacenters: 1, racks: 2, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [140, 200],
    keys: 20,
    siblingKeys: 8,
    thinkUs: [0, 80_000],
    kinds: { get: 25, put: 70, delete: 5 },
  },
  levels: {
    read: { DC_SAFE_QUORUM: 60, DC_EACH_SAFE_QUORUM: 40 },
    write: { DC_ONE: 80, DC_QUORUM: 20 },
  },
  ...cutOffInTurn,
  settings: { aae_enabled: false, hinted_handoff: false, read_repair_percent: 10 },
};
