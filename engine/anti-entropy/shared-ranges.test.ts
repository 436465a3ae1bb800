import { expect, test } from 'vitest';

import { present } from '../base/assert.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { parseNodeId } from '../base/ids.ts';
import { tokensOfNode } from '../cluster/ring/token.ts';
import { Ring } from '../cluster/ring/ring.ts';
import { sharedRanges, wholeSegments } from './shared-ranges.ts';
import { Tree, wholeRing } from './tree.ts';

const node = (name: string): NodeId => present(parseNodeId(name), name);

function ringOf(racks: number, perRack: number): Ring {
  const members = [];
  for (let index = 0; index < racks * perRack; index++) {
    const name = node(`n${index}`);
    members.push({ node: name, datacenter: 'dc1', rack: `r${index % racks}`, tokens: tokensOfNode(name, 4) });
  }
  return new Ring(members);
}

test('two nodes that are alone in their racks share all tokens', () => {
  expect(sharedRanges(ringOf(3, 1), node('n0')).get(node('n1'))).toEqual([wholeRing]);
});

test('a node shares nothing within its rack, nor with a node outside the ring', () => {
  const ring = ringOf(2, 2);
  expect(sharedRanges(ring, node('n0')).get(node('n2'))).toBeUndefined();
  expect(sharedRanges(ring, node('n9')).size).toBe(0);
});

test('tokens are shared exactly by the nodes that both own them', () => {
  const ring = ringOf(3, 3);
  for (const [left, right] of [
    [node('n0'), node('n1')],
    [node('n4'), node('n8')],
  ] as const) {
    const ranges = sharedRanges(ring, left).get(right) ?? [];
    const ends = ring.members.flatMap((member) => member.tokens);
    for (const token of [...ends, ...ends.map((end) => (end + 1) >>> 0), 0, 0xffffffff]) {
      const holders = ring.placement(token as Token).map((member) => member.node);
      const shared = ranges.some(({ first, last }) => first <= token && token <= last);
      expect(shared).toBe(holders.includes(left) && holders.includes(right));
    }
    expect(ranges).toEqual(sharedRanges(ring, right).get(left) ?? []);
  }
});

test('ranges that touch the same segment count it once', () => {
  const tree = new Tree(4);
  const segment = 2 ** 28;
  const ranges = [
    { first: 1, last: 2 },
    { first: 5, last: segment + 1 },
    { first: segment + 9, last: segment + 10 },
    { first: 9 * segment, last: 9 * segment },
  ];
  const whole = wholeSegments(tree, ranges);
  expect(whole).toEqual([
    { first: 0, last: 2 * segment - 1 },
    { first: 9 * segment, last: 10 * segment - 1 },
  ]);
  const counted = (of: readonly { first: number; last: number }[]): number =>
    of.reduce((sum, range) => sum + tree.dirtyCountIn(range), 0);
  expect([counted(whole), counted(ranges)]).toEqual([3, 5]);
});
