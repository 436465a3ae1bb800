/** Reads ask as many replicas as must answer, in turn, and all of them where that is due. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { NodeId, Token } from '../base/ids.ts';
import { present } from '../base/assert.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { DispatchPlan } from './plan.ts';
import { ReadSpread } from './read-spread.ts';

const members = Array.from({ length: 7 }, (_, index): Member => {
  return { node: `n${index}` as NodeId, datacenter: 'dc1', rack: `r${index}`, tokens: [index as Token] };
});
const self = present(members[0], 'a member');

function planOf(targets: readonly Member[], needed: number): DispatchPlan {
  return {
    kind: 'plan',
    targets: targets.map((member) => ({ member, group: 0 })),
    groups: [{ datacenter: 'dc1', needed }],
    agree: false,
    failovers: 0,
  };
}

function namesOf({ targets }: DispatchPlan, bits: number): readonly string[] {
  return targets.flatMap(({ member }, index) => ((bits & (1 << index)) === 0 ? [] : [member.node]));
}

test('as many targets as must answer are asked, this node among them, and the others equally often', () => {
  const targets = fc.shuffledSubarray(members, { minLength: 1 });
  fc.assert(
    fc.property(targets, fc.nat(6), (chosen, less) => {
      const needed = Math.max(1, chosen.length - less);
      const plan = planOf(chosen, needed);
      const spread = new ReadSpread(self, { hedgeMs: 20, repairPercent: 0 });
      const counts = new Map<string, number>();
      const rounds = 64 * 60;
      for (let round = 0; round < rounds; round++) {
        const names = namesOf(plan, spread.first(plan, spread.turn(), 0));
        if (names.length !== needed) expect(names).toHaveLength(needed);
        for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      const own = chosen.includes(self) ? 1 : 0;
      if (own === 1) expect(counts.get(self.node)).toBe(rounds);
      const others = chosen.length - own;
      for (const { node } of chosen)
        if (node !== self.node) expect(counts.get(node) ?? 0).toBe((rounds * (needed - own)) / others);
    }),
  );
});

test('plans with the same replicas in another order ask the same ones in a turn', () => {
  const spread = new ReadSpread(self, { hedgeMs: 20, repairPercent: 0 });
  const one = planOf(members.slice(0, 3), 2);
  const other = planOf(members.slice(0, 3).toReversed(), 2);
  for (let round = 0; round < 4; round++) {
    const turn = spread.turn();
    expect(namesOf(other, spread.first(other, turn, 0)).toSorted()).toEqual(
      namesOf(one, spread.first(one, turn, 0)),
    );
  }
});

test('a share of the reads asks all targets, and all do without a hedge', () => {
  const plan = planOf(members.slice(0, 3), 2);
  const countOf = (hedgeMs: number, repairPercent: number): number => {
    const spread = new ReadSpread(self, { hedgeMs, repairPercent });
    const rounds = Array.from({ length: 100 }, () => spread.first(plan, spread.turn(), 0));
    return rounds.filter((bits) => bits === 7).length;
  };
  expect([countOf(20, 0), countOf(20, 10), countOf(20, 100), countOf(0, 0)]).toEqual([0, 10, 100, 100]);
});

test('a replica that was silent is not waited for during the next second', () => {
  const plan = planOf(members.slice(0, 3), 2);
  const spread = new ReadSpread(self, { hedgeMs: 20, repairPercent: 0 });
  spread.noteSilent(present(members[1], 'a member'), 5_000);
  expect(spread.first(plan, 1, 6_000)).toBe(7);
  expect(spread.first(planOf([self, ...members.slice(3, 5)], 2), 1, 6_000)).not.toBe(7);
  expect(spread.first(plan, 1, 1_005_000)).not.toBe(7);
});
