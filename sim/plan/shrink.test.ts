import { describe, expect, it } from 'vitest';

import { calm } from '../../scenarios/calm.ts';
import { partitionMinority } from '../../scenarios/partition-minority.ts';
import { swarm } from '../../scenarios/swarm.ts';
import { milderFaults } from './milder.ts';
import { present } from '../../engine/base/assert.ts';
import { generatePlan } from './plan-generation.ts';
import type { Plan, PlanFault } from './plan.ts';
import { shrinkPlan } from './shrink.ts';

/** A run that fails if the plan has all these faults and operations. */
function needing(...ids: readonly string[]): (candidate: Plan) => Promise<true | undefined> {
  return (candidate) => {
    const there = new Set(idsOf(candidate));
    return Promise.resolve(ids.every((id) => there.has(id)) || undefined);
  };
}

function idsOf({
  faults,
  operations,
  transactions,
  redisOperations = [],
  jobs = [],
}: Plan): readonly string[] {
  return [...faults, ...operations, ...transactions, ...redisOperations, ...jobs].map(({ id }) => id);
}

describe('shrinking', () => {
  it('keeps exactly what the failure needs, and certifies it', async () => {
    const plan = generatePlan(partitionMinority, 3);
    const needed = ['o17', 'o40'];
    const fault = plan.faults[0]?.id ?? '';
    const { plan: small, minimal } = await shrinkPlan(plan, { findsFailure: needing(...needed, fault) });
    expect(small.operations.map((operation) => operation.id)).toEqual(needed);
    expect(small.faults.map((one) => one.id)).toEqual([fault]);
    expect([small.malformedInput, small.settings, small.seed]).toEqual([[], {}, plan.seed]);
    expect(minimal).toBe(true);
  });

  it('takes large parts first: a swarm of hundreds is minimal after less than a hundred runs', async () => {
    const plans = Array.from({ length: 30 }, (_, seed) => generatePlan(swarm, seed));
    const plan = present(
      plans.find((one) => idsOf(one).length > 150),
      'a large plan',
    );
    const all = idsOf(plan);
    const needed = [all[3] ?? '', all[Math.floor(all.length / 2)] ?? '', all.at(-2) ?? ''];
    const { plan: small, runs, minimal } = await shrinkPlan(plan, { findsFailure: needing(...needed) });
    expect([idsOf(small), minimal]).toEqual([needed, true]);
    expect(runs).toBeLessThan(100);
  });

  it('finds the same plan whatever the number of candidates at once', async () => {
    const plan = generatePlan(partitionMinority, 5);
    const findsFailure = needing('o3', 'o30', 'o31');
    const plans = await Promise.all(
      [1, 2, 7].map(async (width) => (await shrinkPlan(plan, { findsFailure, width })).plan),
    );
    expect(plans[1]).toEqual(plans[0]);
    expect(plans[2]).toEqual(plans[0]);
  });

  it('makes what cannot be removed milder, and steadies all messages whose order does not matter', async () => {
    const plan = generatePlan(partitionMinority, 3);
    const [fault] = plan.faults;
    const findsFailure = ({ faults, steadyHosts = [] }: Plan): Promise<true | undefined> =>
      Promise.resolve(
        (faults.some(({ forUs }) => forUs >= 5000) && !steadyHosts.includes('n2')) || undefined,
      );
    const { plan: small } = await shrinkPlan(plan, { findsFailure });
    expect(fault?.forUs).toBeGreaterThan(10_000);
    expect(small.faults).toHaveLength(1);
    expect(small.faults[0]?.forUs).toBeLessThan(10_000);
    const others = plan.nodes.map(({ name }) => name).filter((name) => name !== 'n2');
    expect([...(small.steadyHosts ?? [])].filter((name) => name.startsWith('n')).toSorted()).toEqual(others);
  });

  it('removes what comes after the violation with one run', async () => {
    const plan = generatePlan(calm, 1);
    const violationUs = Math.floor(plan.stormUs / 3);
    const { plan: small } = await shrinkPlan(plan, {
      findsFailure: () => Promise.resolve(true),
      ...{ runsMax: 1, times: { violationUs } },
    });
    expect(small.stormUs).toBe(violationUs);
    expect(small.operations.length).toBeLessThan(plan.operations.length);
  });

  it('begins with the parts that are suspected, and goes on from the first that fails', async () => {
    const plan = generatePlan(partitionMinority, 5);
    const keeping = (...ids: readonly string[]): Plan => ({
      ...plan,
      ...{ faults: [], malformedInput: [], scrapes: [] },
      operations: plan.operations.filter(({ id }) => ids.includes(id)),
    });
    const { plan: small, runs } = await shrinkPlan(plan, {
      findsFailure: needing('o3', 'o30'),
      suspected: [keeping('o3'), keeping('o3', 'o30'), keeping('o3', 'o30', 'o31')],
      runsMax: 2,
    });
    expect([idsOf(small), runs]).toEqual([['o3', 'o30'], 2]);
  });

  it('a client waits for what is left out as long as it was busy with it in the failing run', async () => {
    const plan = generatePlan(partitionMinority, 5);
    const mine = plan.operations.filter(({ client }) => client === plan.operations[0]?.client);
    const last = mine.at(-1);
    const busy = Object.fromEntries(plan.operations.map(({ id }) => [id, 500_000]));
    const { plan: small } = await shrinkPlan(plan, {
      findsFailure: needing(last?.id ?? ''),
      ...{ times: { busy }, timesOf: () => ({ busy }) },
    });
    const thought = mine.reduce((sum, { thinkUs }) => sum + thinkUs, 0);
    expect(small.operations.map(({ thinkUs }) => thinkUs)).toEqual([thought + 500_000 * (mine.length - 1)]);
  });

  it('stops at its budget and returns a plan that failed', async () => {
    const plan = generatePlan(calm, 1);
    let asked = 0;
    const { plan: small, runs } = await shrinkPlan(plan, {
      findsFailure: (candidate) => {
        asked += 1;
        return Promise.resolve(candidate.operations.length > 10 || undefined);
      },
      runsMax: 7,
    });
    expect(runs).toBe(7);
    expect(asked).toBe(7);
    expect(small.operations.length).toBeGreaterThan(10);
  });

  it('ended from outside returns the smallest plan so far, and waits for no run', async () => {
    const plan = generatePlan(calm, 1);
    const end = new AbortController();
    let asked = 0;
    const { plan: small, minimal } = await shrinkPlan(plan, {
      findsFailure: (candidate) => {
        asked += 1;
        if (asked < 3) return Promise.resolve(candidate.operations.length > 10 || undefined);
        end.abort();
        return new Promise(() => undefined);
      },
      signal: end.signal,
    });
    expect([asked, minimal]).toEqual([3, false]);
    expect(small.operations.length).toBeGreaterThan(10);
  });

  it('sets the floors of a shrunk plan to 0', async () => {
    const { plan } = await shrinkPlan(generatePlan(calm, 1), {
      findsFailure: () => Promise.resolve(true),
      runsMax: 3,
    });
    expect(new Set(Object.values(plan.floors))).toEqual(new Set([0]));
  });
});

it('every milder form of a fault lies nearer to the mildest, so that a search ends', () => {
  const faults = [1, 2, 3, 4].flatMap((seed) => generatePlan(swarm, seed).faults);
  for (const fault of faults) {
    let left = 200;
    for (let now: PlanFault | undefined = fault; now !== undefined; now = milderFaults(now).at(-1)) left -= 1;
    expect(left).toBeGreaterThan(0);
  }
});
