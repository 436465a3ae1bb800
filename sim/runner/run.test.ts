import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../engine/base/errors.ts';
import type { Plan, PlanFault } from '../plan/plan.ts';
import { formatPlan } from '../plan/plan.ts';
import { parsePlan } from '../plan/plan-validation.ts';
import { runPlan } from './run.ts';
import { judgePlan, planOfSeed } from './task.ts';

const small: Plan = { ...planOfSeed('partition-minority', 5), stormUs: 500_000 };

describe('a run', () => {
  it('is the same after other runs in the same process: modules keep no state', async () => {
    const { digest } = await runPlan(small);
    await runPlan({ ...planOfSeed('torn-log-tail', 1), stormUs: 300_000 });
    expect((await runPlan(small)).digest).toBe(digest);
  });

  it('is the same whether its trace is kept or not', async () => {
    const { digest } = await runPlan(small);
    const traced = await runPlan(small, { trace: true });
    expect(traced.digest).toBe(digest);
    expect(traced.trace.length).toBeGreaterThan(1000);
    // Most of what happens runs code of a node; clients' events and waiting packets do not count.
    expect(traced.nodeEvents).toBeGreaterThan(traced.events / 2);
    expect(traced.nodeEvents).toBeLessThan(traced.events);
  });

  it('is the same whether observers follow it or not', async () => {
    const observed = await runPlan(small);
    const unobserved = await runPlan(small, { unobserved: true });
    expect(observed.reports).not.toEqual([]);
    expect(unobserved.reports).toEqual([]);
    expect(unobserved.digest).toBe(observed.digest);
  });

  it('can give one host usual latencies from one of its packets on', async () => {
    const steadyFrom = (packet: number): Plan =>
      parsePlan(formatPlan({ ...small, steadyFrom: [{ host: 'n1', packet }] }));
    const { digest } = await runPlan(small);
    const all = await runPlan(steadyFrom(0));
    const some = await runPlan(steadyFrom(40));
    expect(new Set([digest, all.digest, some.digest]).size).toBe(3);
    expect(all.digest).toBe((await runPlan({ ...small, steadyHosts: ['n1'] })).digest);
    expect((await runPlan(steadyFrom(1_000_000))).digest).toBe(digest);
  });

  it('is another one for another seed', async () => {
    const { digest } = await runPlan(small);
    expect((await runPlan({ ...small, seed: 6 })).digest).not.toBe(digest);
  });

  it('refuses settings that are no configuration', async () => {
    const plan: Plan = { ...small, settings: { request_timeout_ms: 'soon' } };
    await expect(runPlan(plan)).rejects.toThrow(LockstepError);
    await expect(runPlan(plan)).rejects.toMatchObject({ code: 'PlanInvalid' });
  });

  it('refuses a plan that leaves the clients of a datacenter without a node to ask', async () => {
    const plan = planOfSeed('partition-between-dcs', 3);
    const killing = (names: readonly string[]): Plan => {
      const when = { atUs: 100_000 };
      const faults = names.map((name): PlanFault => {
        return { id: `f-${name}`, kind: 'permanent-node-loss', targets: [name], when, forUs: 0, params: {} };
      });
      return { ...plan, faults, floors: { 'no-silent-failures': 1 } };
    };
    const names = plan.nodes.filter(({ datacenter }) => datacenter === 'dc2').map(({ name }) => name);
    const complaint =
      'plan.faults: permanent-node-loss strikes every member of dc2; one at least is to be left';
    await expect(runPlan(killing(names))).rejects.toThrow(complaint);
    expect(() => parsePlan(formatPlan(killing(names)))).toThrow(complaint);
    const result = await judgePlan(parsePlan(formatPlan(killing(names.slice(1)))), () => 0);
    expect(result).toMatchObject({ verdict: 'passed', struck: { 'permanent-node-loss': names.length - 1 } });
  });

  it('refuses a plan in which deaths, leaves and replacements together may leave a datacenter without a member', async () => {
    const plan = planOfSeed('partition-between-dcs', 3);
    const [first, ...rest] = plan.nodes.filter(({ datacenter }) => datacenter === 'dc2');
    const strike = (kind: 'permanent-node-loss' | 'membership-change', name = ''): PlanFault => {
      return { id: `${kind}-${name}`, kind, targets: [name], when: { atUs: 100_000 }, forUs: 0, params: {} };
    };
    const dying = rest.map(({ name }) => strike('permanent-node-loss', name));
    const replacement = { name: 'n99', datacenter: 'dc2', rack: first?.rack ?? '', spare: true } as const;
    const elsewhere = { ...replacement, datacenter: 'dc1', replaces: first?.name ?? '' };
    const together =
      'plan.faults: permanent-node-loss and membership-change together may take every member of dc2; one at least is to be left';
    const plans: readonly (readonly [Plan, string])[] = [
      [{ ...plan, faults: [...dying, strike('membership-change', first?.name)] }, together],
      [
        {
          ...plan,
          nodes: [...plan.nodes, elsewhere],
          faults: [...dying, strike('membership-change', 'n99')],
        },
        together,
      ],
      [
        { ...plan, nodes: [...plan.nodes, { ...replacement, datacenter: 'dc9' }] },
        'plan.nodes: dc9 has spares alone; its clients ask members',
      ],
    ];
    for (const [bad, complaint] of plans) {
      await expect(runPlan(bad)).rejects.toThrow(complaint);
      expect(() => parsePlan(formatPlan(bad))).toThrow(complaint);
    }
    const inPlace = { ...replacement, replaces: first?.name ?? '' };
    const good = {
      ...plan,
      nodes: [...plan.nodes, inPlace],
      faults: [...dying, strike('membership-change', 'n99')],
    };
    expect(() => parsePlan(formatPlan(good))).not.toThrow();
  });

  it('that compares too little fails as vacuous', async () => {
    const result = await judgePlan({ ...small, operations: [], floors: { durability: 10 } }, () => 0);
    expect(result.verdict).toBe('failed');
    expect(result.reports).toMatchObject([{ invariant: 'durability', vacuous: true }]);
  });
});
