/** A recording in which nothing happens, for tests that give it what they are about. */
import type { Concern, Recording } from './recording.ts';
import { planOfSeed } from '../runner/task.ts';

const plan = planOfSeed('calm', 1);

/** No violation; the lanes n1, n2, n3 and c0. */
export function emptyRecording(): Recording {
  return {
    format: 1,
    plan,
    result: {
      ...{ scenario: plan.scenario, seed: plan.seed, verdict: 'failed', reports: [] },
      ...{ digest: '', events: 1, nodeEvents: 1, outcomes: { ok: 0, fail: 0, unknown: 0 } },
      ...{ virtualUs: 1, wallMs: 1, struck: {}, missed: [], because: '' },
    },
    ...{ phases: [], subjects: ['k3'], messageKinds: ['mergeObject', 'written'], messages: [], marks: [] },
    ...{ bands: [], operations: [], states: [], counters: [], sentences: [], leftOut: 0 },
    lanes: [
      { name: 'n1', kind: 'node' },
      { name: 'n2', kind: 'node' },
      { name: 'n3', kind: 'node' },
      { name: 'c0', kind: 'client' },
    ],
    concern: undefined,
  };
}

/** A violation at n2, about k3 and the first operation. */
export function emptyConcern(): Concern {
  return {
    ...{ atUs: 2_000_000, text: '#0 c0 put newest/k3: lost', invariant: 'durability' },
    ...{ promise: '', breach: '', subjects: [0], lanes: [1], operations: [0] },
  };
}
