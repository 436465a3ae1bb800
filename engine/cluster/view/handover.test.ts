import { expect, test } from 'vitest';
import type { NodeId, Token } from '../../base/ids.ts';
import type { Member } from '../ring/ring.ts';
import type { MemberRecord } from '../membership/member-record.ts';
import { Handover } from './handover.ts';

const token = 7 as Token;

function handover(
  former: readonly string[],
  agreeing: readonly string[],
  silent: readonly string[] = [],
  changingMembers: readonly Partial<MemberRecord>[] = [],
) {
  const members = former.map((node) => ({ node }) as Member);
  return new Handover({
    self: 'n1' as NodeId,
    ownership: { formerPrimaries: () => members, handingOver: members },
    changingMembers: () => changingMembers as readonly MemberRecord[],
    hasPublished: () => agreeing.includes('n1'),
    agrees: (node) => agreeing.includes(node),
    isRoutable: (node) => !silent.includes(node),
  });
}

test('without a former primary nothing is waited for', () => {
  expect(handover([], []).isOver(token)).toBe(true);
  expect(handover([], []).awaited(token)).toBe(undefined);
});

test('the former primary must publish the new ring view', () => {
  expect(handover(['n2'], ['n1']).isOver(token)).toBe(false);
  expect(handover(['n2'], ['n1']).awaited(token)).toBe('n2');
  expect(handover(['n2', 'n3'], ['n1', 'n2']).awaited(token)).toBe('n3');
  expect(handover(['n2', 'n3'], ['n1', 'n2']).open).toEqual(['n3']);
  expect(handover(['n2'], ['n1', 'n2']).isOver(token)).toBe(true);
  expect(handover(['n2'], ['n1', 'n2']).open).toEqual([]);
});

test('a node leads no key of another node before its own disk has the new ring', () => {
  expect(handover(['n2'], ['n2']).isOver(token)).toBe(false);
  expect(handover([], []).isOver(token)).toBe(true);
});

test('the replacement of a former primary hands over only once it leads what it took over', () => {
  const replacing = {
    node: 'n2' as NodeId,
    state: 'NORMAL',
    move: 'switching',
    replaces: 'n9' as NodeId,
  } as const;
  expect(handover(['n2'], ['n1', 'n2'], [], [replacing]).isOver(token)).toBe(false);
  expect(handover(['n2'], ['n1', 'n2'], [], [replacing]).open).toEqual(['n2']);
  const joining = { ...replacing, replaces: undefined };
  expect(handover(['n2'], ['n1', 'n2'], [], [joining]).isOver(token)).toBe(true);
});

test('this node as a former primary must publish, too, but does not wait for itself', () => {
  expect(handover(['n1'], []).isOver(token)).toBe(false);
  expect(handover(['n1'], []).awaited(token)).toBe(undefined);
  expect(handover(['n1'], ['n1']).isOver(token)).toBe(true);
});

test('an unreachable former primary is not waited for, and has not handed over', () => {
  expect(handover(['n2'], [], ['n2']).awaited(token)).toBe(undefined);
  expect(handover(['n2'], [], ['n2']).isOver(token)).toBe(false);
});
