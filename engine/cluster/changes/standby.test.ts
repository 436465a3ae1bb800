import { expect, test } from 'vitest';

import { present } from '../../base/assert.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { Member } from '../ring/ring.ts';
import { Ring } from '../ring/ring.ts';
import { standbyRejection } from './standby.ts';

function member(node: string, rack: string, token: number, datacenter = 'dc1'): Member {
  return { node: node as NodeId, datacenter, rack, tokens: [token as Token] };
}

function rejection(ring: Ring, node: string, away: readonly string[] = []): string | undefined {
  const self = present(ring.member(node as NodeId), node);
  return standbyRejection(ring, self, (other) => !away.includes(other.node));
}

const three = new Ring([member('n1', 'r1', 0), member('n2', 'r2', 0), member('n3', 'r3', 0)]);

test('a member of one of three racks may go into STANDBY while both others serve', () => {
  expect(rejection(three, 'n1')).toBeUndefined();
  expect(rejection(three, 'n1', ['n2'])).toBe(
    'reads at a quorum need 2 of the 3 copies in dc1, and without n1 members that serve reads hold 1 of some keys (n2: away or in STANDBY)',
  );
});

test('in a datacenter of one or two racks no member may', () => {
  const two = new Ring([member('n1', 'r1', 0), member('n2', 'r2', 0), member('n3', 'r1', 0, 'dc2')]);
  expect(rejection(two, 'n1')).toMatch(/need 2 of the 2 copies in dc1.* hold 1 of some keys$/);
  expect(rejection(two, 'n3')).toMatch(/need 1 of the 1 copies in dc2.* hold 0 of some keys$/);
});

test('members of different racks may at the same time if they have no key in common', () => {
  const middle = 2 ** 31;
  const six = new Ring(
    [0, middle].flatMap((token, half) =>
      ['r1', 'r2', 'r3'].map((rack) => member(`${rack}${half}`, rack, token)),
    ),
  );
  expect(rejection(six, 'r10', ['r21'])).toBeUndefined();
  expect(rejection(six, 'r10', ['r20'])).toContain('r20: away or in STANDBY');
  // It has no copy of the other keys of its rack.
  expect(rejection(six, 'r10', ['r11'])).toBeUndefined();
});

test('members of other datacenters do not count', () => {
  const racks = ['r1', 'r2', 'r3'];
  const both = new Ring([
    ...racks.map((rack, index) => member(`a${index + 1}`, rack, 0)),
    ...racks.map((rack, index) => member(`b${index + 1}`, rack, 0, 'dc2')),
  ]);
  expect(rejection(both, 'a1', ['b1', 'b2', 'b3'])).toBeUndefined();
});
