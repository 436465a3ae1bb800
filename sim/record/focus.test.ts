import { expect, it } from 'vitest';

import { idsOf } from '../plan/plan-items.ts';
import type { PlanFault } from '../plan/plan.ts';
import { keyOf } from '../plan/plan.ts';
import { planOfSeed } from '../runner/task.ts';
import { suspectedParts } from './focus.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';
import type { Recording } from './recording.ts';

const crash = (id: string, target: string): PlanFault => ({
  ...{ id, kind: 'process-crash', targets: [target], when: { atUs: 10_000 }, forUs: 1000, params: {} },
});
const whole = planOfSeed('transactions', 1);
const plan = { ...whole, faults: [crash('f0', 'n1'), crash('f1', 'n2')] };

/** A run of the plan that breaks a promise at n2 about these subjects. */
function failing(subjects: readonly string[]): Recording {
  const concern = { ...emptyConcern(), atUs: plan.stormUs * 2, subjects: subjects.map((_, at) => at) };
  return { ...emptyRecording(), plan, subjects, concern };
}

it('the smallest part is tried first: no fault and no work, then the work on the keys, then the faults too', () => {
  const parts = suspectedParts(failing(['s0.0']));
  const sizes = parts.map((part) => idsOf(part).length);
  expect(sizes[0]).toBe(0);
  expect(sizes).toEqual(sizes.toSorted((left, right) => left - right));
  expect(sizes.at(-1)).toBeLessThan(idsOf(plan).length);
  expect(parts.map(({ faults }) => faults.map(({ id }) => id))).toEqual([
    [],
    [],
    ['f1'],
    ['f0', 'f1'],
    ['f1'],
  ]);
});

it('transactions are kept whose keys the violation names, and operations', () => {
  const [key] = whole.operations.map((one) => one.key);
  const { key: name } = keyOf(plan, key ?? 0);
  const [, part] = suspectedParts(failing(['s0.0', name]));
  expect(part?.transactions.length).toBeGreaterThan(0);
  expect(
    part?.transactions.every(
      ({ kind, places }) => ['stamp', 'erase', 'restamp'].includes(kind) && places.includes(0),
    ),
  ).toBe(true);
  expect(new Set(part?.operations.map((one) => one.key))).toEqual(new Set(key === undefined ? [] : [key]));
});

it('nothing is suspected of a run that broke nothing', () => {
  expect(suspectedParts({ ...failing([]), concern: undefined })).toEqual([]);
});
