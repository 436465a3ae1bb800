import { describe, expect, it } from 'vitest';

import type { NodeId } from '../../base/ids.ts';
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
