import { readFileSync, writeFileSync } from 'node:fs';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { present } from '../base/assert.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { Ring } from '../cluster/ring/ring.ts';
import type { Viewpoint } from './plan.ts';
import { describePlan, planForward, planRead, planWrite, withLate } from './plan.ts';
import { PlanCache } from './plan-cache.ts';
import type { ConsistencyLevel, Need, ReadNeed, WriteNeed } from './requests.ts';
import { consistencyLevels } from './requests.ts';
import type { Verdict } from './tally.ts';
import { Tally } from './tally.ts';

function member(node: string, datacenter: string, rack: string): Member {
  return { node: node as NodeId, datacenter, rack, tokens: [0 as Token] };
}

/** Two datacenters: three racks here, three there. */
const ring = new Ring([
  ...['a1', 'a2', 'a3'].map((node, index) => member(node, 'east', `r${index + 1}`)),
  ...['b1', 'b2', 'b3'].map((node, index) => member(node, 'west', `r${index + 1}`)),
]);

function viewFrom(self: string, away: readonly string[], standby: readonly string[] = []): Viewpoint {
  return {
    self: present(ring.member(self as NodeId), self),
    rackCount: (datacenter) => ring.rackCount(datacenter),
    isRoutable: (one) => !away.includes(one.node),
    isStandby: (one) => standby.includes(one.node),
  };
}

const placement = ring.placement(0 as Token);

/** The pending owners of the key in the racks of a1 and b2. */
const pending = [member('j1', 'east', 'r1'), member('j2', 'west', 'r2')];

describe('a plan', () => {
  it('equals the golden file for every level, with and without unroutable replicas', () => {
    const lines: string[] = [];
    const needs: readonly Need[] = ['default', 'one', 'all', 2, 4, 0];
    for (const away of [[], ['a1'], ['a1', 'a2'], ['b1', 'b2'], ['a1', 'a2', 'a3']]) {
      lines.push(`away: ${away.join(' ') || 'nobody'}`);
      for (const level of consistencyLevels) {
        lines.push(
          `  read  ${level}: ${describePlan(planRead(viewFrom('a2', away), placement, level, 'default'))}`,
        );
        lines.push(
          `  write ${level}: ${describePlan(planWrite(viewFrom('a2', away), placement, level, 'default'))}`,
        );
      }
      for (const need of needs) {
        lines.push(
          `  write w=${need}: ${describePlan(planWrite(viewFrom('a2', away), placement, 'DC_QUORUM', need))}`,
        );
      }
      const forward = planForward(viewFrom('a2', away), placement).map((one) => one.node);
      lines.push(`  forward to: ${forward.join(' ') || 'nobody'}`);
    }
    for (const away of [[], ['a1'], ['j1'], ['j1', 'j2']]) {
      lines.push(`j1 and j2 take over, away: ${away.join(' ') || 'nobody'}`);
      for (const level of consistencyLevels) {
        const plan = planWrite(viewFrom('a2', away), placement, level, 'default', pending);
        lines.push(`  write ${level}: ${describePlan(plan)}`);
      }
      const all = planWrite(viewFrom('a2', away), placement, 'DC_QUORUM', 'all', pending);
      lines.push(`  write w=all: ${describePlan(all)}`);
    }
    for (const [standby, away] of [
      [['a1'], []],
      [['a2'], []],
      [['a1'], ['a3']],
      [['a1', 'b1'], []],
      [['a1', 'a2', 'a3'], []],
    ] as const) {
      lines.push(`in STANDBY: ${standby.join(' ')}, away: ${away.join(' ') || 'nobody'}`);
      const view = viewFrom('a2', away, standby);
      for (const level of consistencyLevels) {
        lines.push(`  read  ${level}: ${describePlan(planRead(view, placement, level, 'default'))}`);
        lines.push(`  write ${level}: ${describePlan(planWrite(view, placement, level, 'default'))}`);
      }
      lines.push(`  read  r=all: ${describePlan(planRead(view, placement, 'DC_QUORUM', 'all'))}`);
      const forward = planForward(view, placement).map((one) => one.node);
      lines.push(`  forward to: ${forward.join(' ')}`);
    }
    expectGolden('plans.txt', lines.join('\n') + '\n');
  });

  it('reads a replica in STANDBY only if the others are too few, and writes to it like to all', () => {
    const names = ring.members.map((one) => one.node as string);
    fc.assert(
      fc.property(
        fc.subarray(names),
        fc.subarray(names),
        fc.constantFrom(...names),
        fc.constantFrom(...consistencyLevels),
        (away, standby, self, level: ConsistencyLevel) => {
          const [plain, view] = [viewFrom(self, away), viewFrom(self, away, standby)];
          expect(planWrite(view, placement, level, 'default')).toEqual(
            planWrite(plain, placement, level, 'default'),
          );
          const plan = planRead(view, placement, level, 'default');
          const before = planRead(plain, placement, level, 'default');
          // STANDBY does not change what can be read at all.
          expect(plan.kind).toBe(before.kind);
          if (plan.kind === 'refused') return;
          for (const [group, { needed }] of plan.groups.entries()) {
            const asked = plan.targets.filter((target) => target.group === group && target.held !== true);
            const isSpared = ({ member: { node } }: (typeof asked)[number]): boolean =>
              standby.includes(node);
            if (asked.some(isSpared)) expect(asked.length).toBe(needed);
            // A target held back without STANDBY is remote, and enough others like it are asked.
            const held = plan.targets.filter((target) => target.group === group && target.held === true);
            if (held.some((target) => !isSpared(target))) expect(asked.some(isSpared)).toBe(false);
          }
        },
      ),
    );
  });

  it('of a primary read asks the primary alone, and no other replica if it is away', () => {
    const read = (away: readonly string[]): string =>
      describePlan(planRead(viewFrom('a3', away), placement, 'DC_SAFE_QUORUM', 'primary'));
    const primary = present(placement[0], 'a primary').node;
    expect(read([])).toBe(`${primary}, wait for 1 of ${present(placement[0], 'a primary').datacenter}`);
    expect(read([primary])).toBe(`NoTargets: the primary ${primary} cannot be reached`);
  });

  it('counts a write in the datacenter that the client asked, and in `beside` as well', () => {
    const plan = (level: ConsistencyLevel, need: WriteNeed, beside?: string): string => {
      const counted = { local: 'west', ...(beside === undefined ? {} : { beside }) };
      const made = planWrite(viewFrom('a1', []), placement, level, need, [], counted);
      return describePlan(made).replace(/^.*wait for/, 'wait for');
    };
    expect(plan('DC_ONE', 'default')).toBe('wait for 1 of west');
    expect(plan('DC_QUORUM', 'default')).toBe('wait for 2 of west');
    expect(plan('DC_QUORUM', 3)).toBe('wait for 3 of west');
    expect(plan('DC_QUORUM', 'default', 'east')).toBe('wait for 2 of west and 2 of east');
    expect(plan('DC_EACH_SAFE_QUORUM', 'default', 'east')).toBe('wait for 2 of east and 2 of west');
  });

  it('keeps the majorities of all datacenters when the local one is raised', () => {
    const raised = planWrite(viewFrom('a1', []), placement, 'DC_EACH_SAFE_QUORUM', { atLeast: 3 });
    expect(describePlan(raised)).toMatch(/wait for 3 of east and 2 of west$/);
    const read = planRead(viewFrom('a1', []), placement, 'DC_EACH_SAFE_QUORUM', { atLeast: 3 });
    expect(describePlan(read)).toMatch(/wait for 3 of east and 2 of west, equal$/);
    const tooMany = planRead(viewFrom('a1', []), placement, 'DC_EACH_SAFE_QUORUM', { atLeast: 4 });
    expect(describePlan(tooMany)).toMatch(/^BadRequest: 4 replicas were asked for/);
  });

  it('meets the level among the owners before and after a change, for any set of acknowledgements', () => {
    const joined = [...placement.filter(({ node }) => node !== 'a1'), present(pending[0], 'j1')];
    const plan = planWrite(viewFrom('a2', []), placement, 'DC_QUORUM', 'default', pending);
    if (plan.kind === 'refused') throw new Error(plan.detail);
    const local = plan.targets.filter(({ group }) => group === 0).map((target) => target.member);
    const needed = present(plan.groups[0], 'the group').needed;
    fc.assert(
      fc.property(fc.subarray(local, { minLength: needed }), (acknowledged) => {
        for (const owners of [placement, joined]) {
          expect(acknowledged.filter((one) => owners.includes(one)).length).toBeGreaterThanOrEqual(2);
        }
      }),
    );
  });

  it('never waits for more targets than it has, and counts majorities of the configured racks', () => {
    const names = ring.members.map((one) => one.node as string);
    fc.assert(
      fc.property(
        fc.subarray(names),
        fc.constantFrom(...consistencyLevels),
        (away, level: ConsistencyLevel) => {
          for (const plan of [
            planRead(viewFrom('a1', away), placement, level, 'default'),
            planWrite(viewFrom('a1', away), placement, level, 'default'),
          ]) {
            if (plan.kind === 'refused') continue;
            for (const [index, group] of plan.groups.entries()) {
              const counted = plan.targets.filter((target) => target.group === index);
              expect(counted.length).toBeGreaterThanOrEqual(group.needed);
              expect(group.needed).toBe(level === 'DC_ONE' ? 1 : 2);
            }
            for (const target of plan.targets) expect(away).not.toContain(target.member.node);
          }
        },
      ),
    );
  });
});

describe('a tally', () => {
  const plans = fc.constantFrom(...consistencyLevels).map((level) => {
    const plan = planWrite(viewFrom('a1', []), placement, level, 'default');
    if (plan.kind === 'refused') throw new Error(plan.detail);
    return { ...plan, agree: level.includes('SAFE') };
  });
  const answers = fc.array(fc.record({ index: fc.nat(5), success: fc.boolean(), equality: fc.nat(1) }), {
    maxLength: 14,
  });

  it('agrees with a simple recount of the first answer of each target', () => {
    fc.assert(
      fc.property(plans, answers, (plan, heard) => {
        const tally = new Tally(plan);
        const first = new Map<number, { success: boolean; equality: number }>();
        let decided = false;
        for (const { index, success, equality } of heard) {
          if (!first.has(index)) first.set(index, { success, equality });
          const verdict = tally.answer(index, success, equality);
          const expected: Verdict = decided ? 'late' : recount(plan, first);
          expect(verdict).toBe(expected);
          decided ||= expected !== 'pending';
        }
        expect(tally.outstanding).toBe(plan.targets.length - first.size);
      }),
    );
  });

  it('extended by late owners equals one that began with them', () => {
    const late = pending.slice(0, 1);
    fc.assert(
      fc.property(plans, answers, answers, (plan, before, after) => {
        const longer = withLate(plan, late);
        const whole = new Tally(longer);
        const begun = new Tally(plan);
        const known = before.filter(({ index }) => index < plan.targets.length);
        for (const { index, success, equality } of known) {
          begun.answer(index, success, equality);
          whole.answer(index, success, equality);
        }
        fc.pre(!plan.agree && !whole.decided);
        const extended = begun.extended(longer);
        for (const { index, success, equality } of after) {
          const target = index % longer.targets.length;
          expect(extended.answer(target, success, equality)).toBe(whole.answer(target, success, equality));
          expect(extended.describe()).toBe(whole.describe());
        }
        expect(extended.outstanding).toBe(whole.outstanding);
      }),
    );
  });

  it('of a write needs late owners in addition to its level', () => {
    const plan = planWrite(viewFrom('a1', []), placement, 'DC_QUORUM', 'default');
    if (plan.kind === 'refused') throw new Error(plan.detail);
    const longer = withLate(plan, pending.slice(0, 1));
    expect(longer.groups).toEqual([{ datacenter: 'east', needed: 3 }]);
    expect(longer.targets.slice(0, 3).map(({ member: { node } }) => node)).toEqual(['a1', 'a2', 'a3']);
    const tally = new Tally(plan);
    expect([tally.answer(0, true), tally.answer(1, true)]).toEqual(['pending', 'met']);
    const extended = tally.extended(longer);
    // The late owner cannot be reached; every earlier replica has the write.
    expect(extended.answer(plan.targets.length, false)).toBe('pending');
    expect(extended.answer(2, true)).toBe('met');
  });

  it('from the cache is the plan made anew, whatever the states of the replicas were before', () => {
    const away = new Set<string>();
    const standby = new Set<string>();
    const view: Viewpoint = {
      ...viewFrom('a2', []),
      isRoutable: (one) => !away.has(one.node),
      isStandby: (one) => standby.has(one.node),
    };
    const cache = new PlanCache(view);
    const nodes = fc.constantFrom(...ring.members.map(({ node }) => node));
    const needs = fc.constantFrom<Need>('default', 'one', 'quorum', 'all', 0, 1, 2, 3, 4);
    const asked = fc.record({
      away: fc.uniqueArray(nodes),
      standby: fc.uniqueArray(nodes),
      level: fc.constantFrom(...consistencyLevels),
      need: fc.oneof<fc.Arbitrary<ReadNeed>[]>(needs, fc.constant('primary')),
      token: fc.nat({ max: 3 }),
      pending: fc.constantFrom<readonly Member[]>([], [], pending),
    });
    fc.assert(
      fc.property(fc.array(asked, { maxLength: 40 }), (requests) => {
        for (const { level, need, token, ...states } of requests) {
          away.clear();
          standby.clear();
          for (const node of states.away) away.add(node);
          for (const node of states.standby) standby.add(node);
          const at = ring.placement(token as Token);
          expect(cache.read(at, level, need)).toEqual(planRead(view, at, level, need));
          if (need === 'primary') continue;
          const own = planWrite(view, at, level, need, states.pending);
          expect(cache.write(at, level, need, states.pending)).toEqual(own);
        }
      }),
      { numRuns: 60 },
    );
  });

  function recount(
    plan: { targets: readonly { group: number }[]; groups: readonly { needed: number }[]; agree: boolean },
    first: ReadonlyMap<number, { success: boolean; equality: number }>,
  ): 'met' | 'impossible' | 'pending' {
    const states = plan.groups.map((group, groupIndex) => {
      const targets = plan.targets
        .map((_, index) => index)
        .filter((index) => plan.targets[index]?.group === groupIndex);
      const successes = targets.map((index) => first.get(index)).filter((answer) => answer?.success === true);
      const classes = [0, 1].map(
        (equality) => successes.filter((answer) => answer?.equality === equality).length,
      );
      const counted = plan.agree ? Math.max(...classes) : successes.length;
      const silent = targets.filter((index) => !first.has(index)).length;
      if (counted >= group.needed) return 'met';
      return counted + silent < group.needed ? 'impossible' : 'pending';
    });
    if (states.includes('impossible')) return 'impossible';
    return states.includes('pending') ? 'pending' : 'met';
  }
});

/** Compares with a golden file; `LOCKSTEP_GOLDEN=write` rewrites it. */
function expectGolden(name: string, text: string): void {
  const path = new URL(`testdata/${name}`, import.meta.url);
  if (process.env['LOCKSTEP_GOLDEN'] === 'write') writeFileSync(path, text);
  expect(text).toBe(readFileSync(path, 'utf8'));
}
