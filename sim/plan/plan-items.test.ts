import { expect, it } from 'vitest';

import { planOfSeed } from '../runner/task.ts';
import { idsOf, withItemOf, withoutItem } from './plan-items.ts';
import type { Plan } from './plan.ts';

const change = { id: 'b0', atUs: 5, node: 'n1', kind: 'set', bucket: 0, mark: 1 } as const;
const plan: Plan = { ...planOfSeed('everything-at-once', 1), bucketChanges: [change] };

it('any item can be left out and put back', () => {
  const ids = idsOf(plan);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toContain('b0');
  for (const id of ids) {
    const without = withoutItem(plan, id);
    expect(idsOf(without)).toEqual(ids.filter((one) => one !== id));
    expect(withItemOf(plan, without, id)).toEqual(plan);
  }
});

it('what is put back does not drop what another edit added', () => {
  const added: Plan = { ...withoutItem(plan, 'b0'), bucketChanges: [{ ...change, id: 'b9' }] };
  expect(withItemOf(plan, added, 'b0').bucketChanges?.map(({ id }) => id)).toEqual(['b0', 'b9']);
});
