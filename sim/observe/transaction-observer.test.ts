/** Tests what the observer of one incarnation expects of its prepared branches. */
import { expect, test } from 'vitest';

import { TransactionObserver } from './transaction-observer.ts';
import { TransactionRecords } from './transaction-records.ts';

interface Expected {
  /** Branches that wait, at least and at most. */
  readonly waiting: readonly [number, number];
  /** Those of which a failed disk may hold an outcome. */
  readonly decided: number;
  /** The greatest age of what waits, in milliseconds. */
  readonly ageMs: number;
}

/**
 * Plays one event a line (such as `p.decision.recv commit`), at a branch that has voted commit, and looks at it after
 * 100 ms.
 */
function expectedAfter(...lines: readonly string[]): Expected {
  const observer = new TransactionObserver(new TransactionRecords(), new Set());
  ['p.locks.taken', 'p.vote.sent commit', ...lines].forEach((line, index) => {
    const [name = '', word = ''] = line.split(' ');
    const clocks = { localUs: index, wallMs: index };
    observer.happened(`xa.${name}`, { xid: 't1', vote: word, decision: word, keys: 'b/k1' }, index, clocks);
  });
  const { prepared, perhapsDecidedOnDisk, oldestAgeMs } = observer.truth(100, { localUs: 100, wallMs: 100 });
  return { waiting: prepared, decided: perhapsDecidedOnDisk, ageMs: oldestAgeMs };
}

test('a branch waits until its outcome is durable, and no disk holds an outcome before one was written', () => {
  expect(expectedAfter()).toEqual({ waiting: [1, 1], decided: 0, ageMs: 100 });
  expect(expectedAfter('p.decision.recv commit')).toEqual({ waiting: [0, 1], decided: 1, ageMs: 100 });
  expect(expectedAfter('p.decision.recv commit', 'p.applied.synced')).toEqual({
    waiting: [0, 0],
    decided: 0,
    ageMs: 0,
  });
  expect(expectedAfter('p.decision.recv rollback')).toEqual({ waiting: [0, 0], decided: 0, ageMs: 0 });
});

test('an operator’s decision that could not be written leaves the branch waiting, and perhaps a record of it', () => {
  expect(expectedAfter('branch.resolving rollback')).toEqual({ waiting: [0, 1], decided: 1, ageMs: 100 });
  expect(expectedAfter('branch.resolving rollback', 'branch.unresolved rollback')).toEqual({
    waiting: [1, 1],
    decided: 1,
    ageMs: 100,
  });
});

test('a commit that the disk failed to sync may be there, although an operator’s decision failed since', () => {
  const later = ['branch.resolving rollback', 'branch.unresolved rollback'];
  expect(expectedAfter('p.decision.recv commit', ...later)).toEqual({
    waiting: [1, 1],
    decided: 1,
    ageMs: 100,
  });
});

test('a branch waits on when its coordinator rolls back while an operator’s decision is on its way to the disk', () => {
  const heard = ['branch.resolving rollback', 'p.decision.recv rollback'];
  expect(expectedAfter(...heard).waiting).toEqual([0, 1]);
  expect(expectedAfter(...heard, 'branch.decided rollback').waiting).toEqual([0, 0]);
});

test('a branch that its operator rolled back waits on after it has heard of the commit, whatever it hears later', () => {
  const decided = ['branch.resolving rollback', 'branch.decided rollback'];
  expect(expectedAfter(...decided).ageMs).toBe(100);
  expect(expectedAfter(...decided, 'p.decision.recv rollback').ageMs).toBe(0);
  const compared = [...decided, 'p.decision.recv commit', 'branch.mixed commit'];
  expect(expectedAfter(...compared, 'p.decision.recv rollback').ageMs).toBe(100);
});
