import { expect, it } from 'vitest';

import { idsOf } from './plan-items.ts';
import type { Plan, PlanFault } from './plan.ts';
import { keyOf } from './plan.ts';
import { planOfSeed } from '../runner/task.ts';
import { suspectedParts, suspicionIn } from './suspects.ts';

const crash = (id: string, target: string): PlanFault => ({
  ...{ id, kind: 'process-crash', targets: [target], when: { atUs: 10_000 }, forUs: 1000, params: {} },
});
const whole = planOfSeed('transactions', 1);
const plan = { ...whole, faults: [crash('f0', 'n1'), crash('f1', 'n2')] };

/** Parts of the plan after a violation at n2 about these subjects. */
function partsFor(subjects: readonly string[]): readonly Plan[] {
  return suspectedParts(plan, { subjects, hosts: ['n2'] }, { violationUs: plan.stormUs * 2 });
}

it('the smallest part is tried first: no fault and no work, then the work on the keys, then the faults too', () => {
  const parts = partsFor(['s0.0']);
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
  const [, part] = partsFor(['s0.0', name]);
  expect(part?.transactions.length).toBeGreaterThan(0);
  expect(
    part?.transactions.every(
      ({ kind, places }) => ['stamp', 'erase', 'restamp'].includes(kind) && places.includes(0),
    ),
  ).toBe(true);
  expect(new Set(part?.operations.map((one) => one.key))).toEqual(new Set(key === undefined ? [] : [key]));
});

it('a part ends at the violation, where that comes before the end of the storm', () => {
  const parts = suspectedParts(plan, { subjects: [], hosts: [] }, { violationUs: 20_000 });
  expect(new Set(parts.map(({ stormUs }) => stormUs))).toEqual(new Set([20_000]));
});

it('a violation names keys with their buckets, and hosts of the plan', () => {
  const text = '#111 reader-dc1 get siblings/k0 at n1: ok in 1.0 ms: lost: #44 c9999 put siblings/k0 at n77';
  expect(suspicionIn(text, plan)).toEqual({ subjects: ['k0'], hosts: ['n1'] });
});
