import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { present } from '../../base/assert.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { tokenMax } from '../../base/ids.ts';
import { isWithin } from '../ring/arc.ts';
import type { Member } from '../ring/ring.ts';
import { Ring } from '../ring/ring.ts';
import { tokensOfNode } from '../ring/token.ts';
import { arcsOf, rebuildSources, sourcesOf, splitByPlacement } from './arcs.ts';

function member(
  node: string,
  rack: string,
  datacenter = 'd',
  tokens = tokensOfNode(node as NodeId, 4),
): Member {
  return { node: node as NodeId, datacenter, rack, tokens };
}

const racks = [member('a1', 'r1'), member('a2', 'r2'), member('a3', 'r3')];
const token = fc.integer({ min: 0, max: tokenMax }) as fc.Arbitrary<Token>;
const names = (members: readonly Member[] | undefined): readonly string[] | undefined =>
  members?.map(({ node }) => node);

describe('the arcs of a member', () => {
  it('are what the new ring gives it, split so that each part has one placement', () => {
    const joiner = member('j', 'r1');
    const before = new Ring(racks);
    const after = new Ring([...racks, joiner]);
    const arcs = arcsOf(racks, joiner);
    const parts = splitByPlacement(arcs, before);
    fc.assert(
      fc.property(token, (at) => {
        const owned = after.placement(at).includes(joiner);
        expect(arcs.filter((arc) => isWithin(arc, at))).toHaveLength(owned ? 1 : 0);
        const [part, ...others] = parts.filter((one) => isWithin(one, at));
        expect([part !== undefined, others]).toEqual([owned, []]);
        if (part === undefined) return;
        const owners = (where: Token): readonly string[] => before.placement(where).map(({ node }) => node);
        expect(owners(at).toSorted()).toEqual(owners(part.to).toSorted());
      }),
    );
  });

  it('are the whole ring for the only node of a rack, even with one token', () => {
    const lone = member('j', 'r9', 'd', [7 as Token]);
    expect(arcsOf(racks, lone)).toEqual([{ from: 7, to: 7 }]);
  });
});

describe('the sources of a range', () => {
  const range = { from: 0 as Token, to: 100 as Token };
  const ring = new Ring(racks);
  const joiner = member('j', 'r1');
  const without =
    (...away: readonly string[]) =>
    ({ node }: Member): boolean =>
      !away.includes(node);

  it('are the owner in the same rack while it is reachable', () => {
    expect(names(sourcesOf(ring, range, joiner, without()))).toEqual(['a1']);
  });

  it('are otherwise enough other replicas to hold every acknowledged write, or undefined if too few are reachable', () => {
    expect(names(sourcesOf(ring, range, joiner, without('a1')))?.toSorted()).toEqual(['a2', 'a3']);
    expect(sourcesOf(ring, range, joiner, without('a1', 'a3'))).toBeUndefined();
  });

  it('are any one replica for a new rack, in this datacenter if it has one', () => {
    const fourth = member('j', 'r4');
    expect(names(sourcesOf(ring, range, fourth, without('a1', 'a2')))).toEqual(['a3']);
    const far = member('j', 'r1', 'e');
    expect(names(sourcesOf(ring, range, far, without('a1', 'a2')))).toEqual(['a3']);
    expect(sourcesOf(ring, range, far, without('a1', 'a2', 'a3'))).toBeUndefined();
  });

  it('are the former owner alone where it held the only copy of its datacenter, unless it is replaced', () => {
    const only = [member('a1', 'r1')];
    const alone = new Ring(only);
    expect(names(sourcesOf(alone, range, joiner, without()))).toEqual(['a1']);
    expect(sourcesOf(alone, range, joiner, without('a1'))).toBeUndefined();
    expect(sourcesOf(alone, range, joiner, without('a1'), 'a1' as NodeId)).toEqual([]);
    const apart = new Ring([...only, member('b1', 'r1', 'e')]);
    expect(sourcesOf(apart, range, joiner, without('a1'))).toBeUndefined();
    expect(names(sourcesOf(apart, range, joiner, without('a1'), 'a1' as NodeId))).toEqual(['b1']);
  });

  it('include every acknowledged write of the dead node, whatever majority acknowledged it', () => {
    for (const count of [1, 2, 3, 4, 5, 6, 7]) {
      const members = Array.from({ length: count }, (_, index) => member(`n${index}`, `r${index}`));
      const dead = present(members[0], 'the dead node');
      const replacement = { ...dead, node: 'replacement' as NodeId };
      const sources =
        sourcesOf(new Ring(members), range, replacement, (one) => one !== dead, dead.node) ?? [];
      // A majority of the dead node and replicas that are not read.
      const unread = members.filter((one) => one !== dead && !sources.includes(one));
      expect(1 + unread.length).toBeLessThan(count === 1 ? 2 : Math.floor(count / 2) + 1);
    }
  });
});

describe('the ranges that a rebuild reads', () => {
  const whole = (): { readonly holds: boolean; readonly whole: boolean } => ({ holds: true, whole: true });
  const mate = member('b1', 'r1');
  const [self] = racks;
  const lost = present(self, 'the member that lost its disk');
  const ring = new Ring([...racks, mate]);

  it('are those that it owns, and those that a leaving member is about to give it', () => {
    const left = new Ring(racks);
    const own = rebuildSources(ring, lost, whole);
    const all = rebuildSources(ring, lost, whole, [left]);
    fc.assert(
      fc.property(token, (at) => {
        const readBy = (sources: typeof own): readonly string[] =>
          sources.filter(([, range]) => isWithin(range, at)).map(([source]) => source.node);
        const owned = ring.placement(at).includes(lost);
        expect(readBy(own)).toHaveLength(owned ? 2 : 0);
        expect(readBy(all)).toHaveLength(2);
        expect(new Set(readBy(all)).size).toBe(2);
        expect(readBy(all)).not.toContain(lost.node);
      }),
    );
  });

  it('are those of a leaving member whose copy is the only one, before and after the ring has changed', () => {
    const [before, after] = [new Ring([lost, mate]), new Ring([lost])];
    fc.assert(
      fc.property(token, (at) => {
        const readBy = (one: Ring, other: Ring): readonly string[] =>
          rebuildSources(one, lost, whole, [other])
            .filter(([, range]) => isWithin(range, at))
            .map(([source]) => source.node);
        const given = before.placement(at).includes(mate) ? [mate.node] : [];
        expect(readBy(before, after)).toEqual(given);
        expect(readBy(after, before)).toEqual(given);
      }),
    );
  });

  it('are no more if a joining member is about to take some', () => {
    const joiner = member('j', 'r1');
    const joined = new Ring([...racks, mate, joiner]);
    expect(rebuildSources(ring, lost, whole, [joined])).toEqual(rebuildSources(ring, lost, whole));
  });
});
