import { describe, expect, it } from 'vitest';

import type { NodeId } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { Xid } from '../formats/xid.ts';
import type { DoubtfulAttempt } from './finished-branches.ts';
import { FinishedBranches } from './finished-branches.ts';
import { makeXid } from '../formats/xid.fixture.ts';

describe('a transaction that has ended', () => {
  const xid = makeXid('n1' as NodeId, '0123456789ab', 1);

  it.each([
    ['refused', 'abort'],
    ['rolledBack', 'abort'],
    ['readOnly', 'abort'],
    // Its writes may be durable: an abort would be a guess.
    ['doubtful', 'doubtful'],
  ] as const)('that is %s answers a late request with the vote %s', (how, vote) => {
    const endings = new FinishedBranches();
    expect(endings.rejectionOf(xid)).toBeUndefined();
    endings.enter(xid, how);
    expect(endings.rejectionOf(xid)).toMatchObject({ kind: 'voted', vote, reason: 'prepare_failed' });
  });
});

it('a transaction whose record is damaged is doubtful, whatever follows, until its coordinator rolls it back', () => {
  const endings = new FinishedBranches();
  const xid = makeXid('n1' as NodeId, '0123456789ab', 1);
  endings.enterDamaged(xid);
  endings.enter(xid, 'refused');
  expect([endings.of(xid), endings.rejectionOf(xid)?.vote]).toEqual(['doubtful', 'doubtful']);
  endings.enter(xid, 'rolledBack');
  expect(endings.of(xid)).toBe('rolledBack');
});

it('a doubtful attempt under an idempotency key stays open under that key alone, whatever comes behind it', () => {
  const ended = new FinishedBranches();
  const [first, second, third] = [1, 2, 3].map((count) => makeXid('n1' as NodeId, '0123456789ab', count)) as [
    Xid,
    Xid,
    Xid,
  ];
  const order = (clientId: string): DoubtfulAttempt['order'] => ({
    clientId,
    clientDigest: byteStringOf('d'),
  });
  ended.enterDoubtful(first, order('c/1'));
  ended.enterDoubtful(second, order(''));
  ended.enter(third, 'refused');
  expect(ended.of(second)).toBe('doubtful');
  expect(ended.doubtful.map(({ xid }) => xid)).toEqual([first]);
  expect(ended.doubtfulUnder('c/1').map(({ xid }) => xid)).toEqual([first]);
  expect(ended.doubtfulUnder('c/2')).toEqual([]);
});

it('keeps a bounded number of doubtful attempts: the newest', () => {
  const ended = new FinishedBranches();
  const order = { clientId: 'c/1', clientDigest: byteStringOf('d') };
  const xids = Array.from({ length: 32_769 }, (_, count) =>
    makeXid('n1' as NodeId, '0123456789ab', count + 1),
  );
  for (const one of xids) ended.enterDoubtful(one, order);
  expect(ended.doubtful.length).toBe(32_768);
  expect(ended.doubtful[0]?.xid).toBe(xids[1]);
});
