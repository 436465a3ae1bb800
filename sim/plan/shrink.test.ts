import { describe, expect, it } from 'vitest';

import { calm } from '../../scenarios/calm.ts';
import { partitionMinority } from '../../scenarios/partition-minority.ts';
import { generatePlan } from './plan-generation.ts';
import type { Plan } from './plan.ts';
import { shrinkPlan } from './shrink.ts';

describe('shrinking', () => {
  it('keeps exactly what the failure needs', async () => {
    const plan = generatePlan(partitionMinority, 3);
    const needed = ['o17', 'o40'];
    const fault = plan.faults[0]?.id;
    const fails = (candidate: Plan): Promise<boolean> => {
      const ids = new Set([...candidate.operations, ...candidate.faults].map((item) => item.id));
      return Promise.resolve([...needed, fault ?? ''].every((id) => ids.has(id)));
    };
    const { plan: small } = await shrinkPlan(plan, 500, fails);
    expect(small.operations.map((operation) => operation.id)).toEqual(needed);
    expect(small.faults.map((one) => one.id)).toEqual([fault]);
    expect(small.malformedInput).toEqual([]);
    expect(small.seed).toBe(plan.seed);
  });

  it('stops at its budget and returns a plan that failed', async () => {
    const plan = generatePlan(calm, 1);
    let asked = 0;
    const { plan: small, runs } = await shrinkPlan(plan, 7, (candidate) => {
      asked += 1;
      return Promise.resolve(candidate.operations.length > 10);
    });
    expect(runs).toBe(7);
    expect(asked).toBe(7);
    expect(small.operations.length).toBeGreaterThan(10);
  });

  it('sets the floors of a shrunk plan to 0', async () => {
    const { plan } = await shrinkPlan(generatePlan(calm, 1), 3, () => Promise.resolve(true));
    expect(new Set(Object.values(plan.floors))).toEqual(new Set([0]));
  });
});
