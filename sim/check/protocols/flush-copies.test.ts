import { expect, it } from 'vitest';

import type { FlushCopies } from '../../evidence/flush-copies.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { checkFlushCopies } from './flush-copies.ts';

const flush: RedisRecord = {
  id: 'q1',
  kind: 'flushall',
  client: 'r1',
  node: 'n1',
  datacenter: 'dc1',
  key: 0,
  amount: 1,
  other: 0,
  reason: '',
  counted: undefined,
  balances: [],
  found: undefined,
  final: false,
  outcome: 'ok',
  invokedUs: 100,
  completedUs: 200,
  replies: ['+OK', '+OK', '+OK'],
};

/** Three racks of one node, of which these know of the flush since then. */
function copiesOf(since: Readonly<Record<string, number>>, joins: readonly string[] = []): FlushCopies {
  return {
    racks: ['n1', 'n2', 'n3'].map((name, index) => ({
      datacenter: 'dc1',
      members: [name],
      others: index === 2 ? joins : [],
    })),
    knownSince: (node) => since[node] ?? Infinity,
  };
}

const isSound = (copies: FlushCopies, lost = 0): boolean => checkFlushCopies([flush], copies, () => lost).ok;

it('a flush that a majority of the racks holds before its reply is durable', () => {
  expect(isSound(copiesOf({ n1: 110, n3: 200 }))).toBe(true);
});

it('a flush that the other racks hold only after its reply is not', () => {
  expect(isSound(copiesOf({ n1: 110, n2: 201, n3: 250 }))).toBe(false);
});

it('a rack counts once all its members hold the flush', () => {
  const two = copiesOf({ n1: 110, n2: 120 });
  const racks = two.racks.map((rack, index) => (index === 1 ? { ...rack, members: ['n2', 'n4'] } : rack));
  expect(isSound({ ...two, racks })).toBe(false);
});

it('what a lying disk lost is excused', () => {
  expect(isSound(copiesOf({ n1: 110 }), 1)).toBe(true);
});

it('a flush of unknown outcome promises nothing', () => {
  const open = { ...flush, outcome: 'unknown' } as const;
  expect(checkFlushCopies([open], copiesOf({}), () => 0).checked).toBe(0);
});
