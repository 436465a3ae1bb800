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
    // Its writes may be on the disk: that it is aborted would be a guess.
    ['doubtful', 'doubtful'],
  ] as const)('%s: its message comes once more and is answered with %s', (how, vote) => {
    const endings = new FinishedBranches();
    expect(endings.objection(xid)).toBeUndefined();
    endings.enter(xid, how);
    expect(endings.objection(xid)).toMatchObject({ kind: 'voted', vote, reason: 'prepare_failed' });
  });
});
