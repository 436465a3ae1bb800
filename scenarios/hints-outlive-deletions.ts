import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

/**
 * Answers are lost while their connections live: a write that a replica took long ago becomes a hint when its deadline
 * passes. Clocks jump forward, so that deletions become due before that, although all replicas have held them for an
 * instant only.
 */
export const hintsOutliveDeletions: Scenario = {
  name: 'hints-outlive-deletions',
  description:
    'answers to writes are lost, and clocks jump until tombstones are due: the hints bring no deleted object back',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [200, 260],
    keys: 20,
    siblingKeys: 8,
    thinkUs: [0, 120_000],
    kinds: { get: 20, put: 40, delete: 40 },
  },
  faults: [
    {
      kind: 'message-filter',
      count: [5, 8],
      forUs: [300_000, 1_200_000],
      choices: { message: ['answers'] },
      always: true,
    },
    { kind: 'clock-jump', count: [8, 12], params: { byMs: [1_000, 4_000] }, always: true },
    { kind: 'process-crash', count: [1, 3], forUs: [100_000, 800_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 7_000,
  calmMs: 4_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: { ...mending, tombstone_grace_seconds: 1 },
  invariants: {
    ...invariants,
    'durable-before-ack': 5,
    convergence: 4,
    'repair-soundness': 60,
    'session-guarantees': 1,
  },
};
