import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

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
  faults: [
    { kind: 'network-partition', count: [2, 5], forUs: [300_000, 1_200_000], sideMax: 1, always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 800_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 40_000,
  settings: { aae_enabled: false, hinted_handoff: false, read_repair_percent: 10 },
  invariants: {
    ...invariants,
    durability: 5,
    'durable-before-ack': 2,
    causality: 20,
    convergence: 5,
    'quorum-intersection': 10,
    'session-guarantees': 0,
    liveness: 3,
    'no-ambient-time': 2,
    'no-silent-failures': 2,
  },
};
