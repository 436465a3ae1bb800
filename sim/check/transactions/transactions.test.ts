import { describe, expect, it } from 'vitest';

import { blankTransaction } from '../../evidence/transaction-fixture.ts';
import type { TransactionStep } from './transactions.ts';
import {
  buriedWith,
  checkAtomicity,
  checkNothingDangles,
  checkOnce,
  checkRetries,
  checkStability,
} from './transactions.ts';
import { checkLocks } from './locks.ts';

/** Parses steps: `n2 p.vote.sent t1 vote=commit`, one a line, a microsecond apart. */
function story(text: string): readonly TransactionStep[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '')
    .map((line, index) => {
      const [node = '', step = '', xid = '', ...more] = line.split(' ');
      const fields = Object.fromEntries(
        more.map((word) => [word.split('=')[0] ?? '', (word.split('=')[1] ?? '').replaceAll(',', ' ')]),
      );
      return { atUs: index + 1, node, step, xid, fields };
    });
}

const committed = `
  n1 c.prepare.sent t1 to=n2
  n2 p.locks.taken t1 keys=k
  n2 p.vote.sent t1 vote=commit
  n3 p.vote.sent t1 vote=commit
  n1 c.decision.synced t1
  n2 p.decision.recv t1
  n2 p.applied.synced t1
  n3 p.applied.synced t1
  n2 p.locks.released t1
`;

const without = (line: string): string => committed.replace(`  ${line}\n`, '');

describe('atomicity (INV1)', () => {
  it('holds for a transaction that every voter applied, and for one that no voter applied', () => {
    expect(checkAtomicity(story(committed))).toMatchObject({ ok: true, checked: 4 });
    const aborted = committed.replace(/ *n. (c\.decision|p\.applied).*\n/g, '');
    expect(checkAtomicity(story(aborted))).toMatchObject({ ok: true, checked: 2 });
  });

  it('breaks when a voter never carries out what was decided', () => {
    const half = checkAtomicity(story(without('n3 p.applied.synced t1')));
    expect(half.reasons).toEqual(['n3 never carried out t1, decided']);
  });

  it('breaks when a branch applies an undecided transaction, or applies before the decision', () => {
    const undecided = checkAtomicity(story(without('n1 c.decision.synced t1')));
    expect(undecided.reasons[0]).toBe('n2 carried out t1, which nobody decided');
    const early = checkAtomicity(story(`${without('n1 c.decision.synced t1')}\nn1 c.decision.synced t1`));
    expect(early.reasons[0]).toBe('n2 carried out t1 before the decision');
  });

  it('takes what a restart finds decided for decided', () => {
    const found = committed.replace('c.decision.synced', 'decision.recovered');
    expect(checkAtomicity(story(found))).toMatchObject({ ok: true, checked: 4 });
  });

  it('spares the branch that an operator decided, and no other of its transaction', () => {
    const skipped = (text: string): unknown => checkAtomicity(story(text));
    const decided = committed.replace('n3 p.applied.synced t1', 'n3 branch.decided t1 decision=rollback');
    expect(skipped(decided)).toMatchObject({ ok: true, checked: 2, skipped: 1 });
    const found = committed.replace(
      'n3 p.applied.synced t1',
      'n3 p.recovery.scan t1 phase=heuristicRolledBack',
    );
    expect(skipped(found)).toMatchObject({ ok: true, checked: 2, skipped: 1 });
    const abandoned = committed.replace('n3 p.applied.synced t1', 'n1 decision.abandoned t1 nodes=n3');
    expect(skipped(abandoned)).toMatchObject({ ok: true, checked: 2, skipped: 1 });
    const spread = decided.replace('n1 c.decision.synced t1', '').replace('=rollback', '=commit');
    expect(checkAtomicity(story(spread)).reasons).toEqual(['n2 carried out t1, which nobody decided']);
  });

  it('takes what a restart finds applied for carried out', () => {
    const crashed = committed.replace('n3 p.applied.synced t1', 'n3 p.recovery.scan t1 phase=applied');
    expect(checkAtomicity(story(crashed)).ok).toBe(true);
  });
});

describe('a branch that dies with its node', () => {
  const buried = (text: string): readonly string[] => [
    ...buriedWith(
      ['n3'],
      story(text).map((one) => ({
        ...one,
        fields: { ...one.fields, met: one.fields['met'] === 'true' },
      })),
    ),
  ];

  it('excuses what it had voted for and had not spread, and nothing else', () => {
    expect(buried(committed)).toEqual(['t1']);
    expect(buried(`${committed}\nn3 p.ack.sent t1 met=false`)).toEqual(['t1']);
    expect(buried(`${committed}\nn3 p.ack.sent t1 met=true`)).toEqual([]);
    expect(buried(`${committed}\nn3 p.decision.recv t1 decision=rollback`)).toEqual([]);
    expect(buried(without('n3 p.vote.sent t1 vote=commit'))).toEqual([]);
  });
});

describe('a branch of a node that was replaced', () => {
  const replacements = new Map([['n3', 'n4']]);
  const unheard = committed.replace('n3 p.applied.synced t1', '');
  const judged = (text: string) => checkAtomicity(story(text), ['n3'], replacements);

  it('is applied by its replacement, or was known to be applied', () => {
    expect(judged(unheard).reasons).toEqual(['n4 never carried out t1, decided, for n3']);
    expect(judged(committed).ok).toBe(false);
    expect(judged(`${unheard}\nn4 p.applied.synced t1`).ok).toBe(true);
    expect(judged(`${committed}\nn1 c.ack.recv t1 from=n3`).ok).toBe(true);
  });

  it('is skipped where its prepare request is lost, and where the node was not replaced', () => {
    expect(judged(`${unheard}\nn1 decision.abandoned t1 nodes=n3`).ok).toBe(false);
    const anew = unheard.replace(
      'n1 c.decision.synced t1',
      'n1 c.decision.synced t1\nn1 decision.recovered t1',
    );
    expect(judged(`${anew}\nn1 decision.abandoned t1 nodes=n3`)).toMatchObject({ ok: true, skipped: 1 });
    expect(checkAtomicity(story(unheard), ['n3']).ok).toBe(true);
    expect(checkAtomicity(story(unheard), ['n1', 'n3'], replacements).ok).toBe(true);
  });

  it('is no longer lost with its node', () => {
    const buried = (text: string) => [...buriedWith(['n3'], story(text), replacements)];
    expect(buried(unheard)).toEqual(['t1']);
    expect(buried(`${unheard}\nn4 p.applied.synced t1`)).toEqual([]);
  });
});

describe('stability (outcome-stability)', () => {
  const heard = (outcome: 'committed' | 'aborted' | 'unknown') => ({ atUs: 9, xid: 't1', outcome });

  it('holds while everybody hears what happened', () => {
    expect(checkStability(story(committed), [heard('committed'), heard('unknown')])).toMatchObject({
      ok: true,
      checked: 2,
      skipped: 1,
    });
  });

  it('breaks when an outcome changes, or "aborted" has happened', () => {
    const steps = story(committed);
    expect(checkStability(steps, [heard('committed'), heard('aborted')]).reasons).toEqual([
      't1 was committed and is said to be aborted',
      't1 was said to be aborted, and happened',
    ]);
  });
});

describe('a commit that a client hears of (outcome-stability)', () => {
  const begun = 'n1 c.begin t1 branches=n2';
  const told = (text: string) => checkStability(story(text), [{ atUs: 9, xid: 't1', outcome: 'committed' }]);

  it('was decided, or carried out in one step, or had nothing to write anywhere', () => {
    expect(told(committed).ok).toBe(true);
    expect(told(`${begun}\nn2 p.applied.synced t1`).ok).toBe(true);
    expect(told(`${begun}\nn2 p.recovery.scan t1 phase=applied`).ok).toBe(true);
    expect(told(`${begun}\nn1 c.prepare.sent t1\nn2 p.vote.sent t1 vote=readOnly`).ok).toBe(true);
    expect(told(`${begun}\nn2 branch.concluded t1 vote=readOnly`).ok).toBe(true);
  });

  it('breaks when no step mentions it, it was not decided, or a branch has no step', () => {
    const reasons = ['t1 was said to be committed, and was not'];
    for (const steps of [
      '',
      begun,
      `${begun}\nn1 c.prepare.sent t1\nn2 p.vote.sent t1 vote=commit`,
      `${begun},n3\nn1 c.prepare.sent t1\nn2 p.vote.sent t1 vote=readOnly`,
    ])
      expect(told(steps).reasons).toEqual(reasons);
  });
});

describe('nothing dangles (no-dangling-transactions)', () => {
  it('breaks for a transaction in doubt and for a node that does not say', () => {
    expect(checkNothingDangles([{ node: 'n1', atUs: 1, xids: [] }]).ok).toBe(true);
    expect(checkNothingDangles([{ node: 'n1', atUs: 1, xids: ['t1'] }]).ok).toBe(false);
    expect(checkNothingDangles([{ node: 'n1', atUs: 1, xids: undefined }]).ok).toBe(false);
    expect(checkNothingDangles([]).checked).toBe(0);
  });
});

describe('locks (lock-exclusivity)', () => {
  it('hold for a branch that releases before the next one takes', () => {
    expect(checkLocks(story(`${committed}\nn2 p.locks.taken t2 keys=k`))).toMatchObject({
      ok: true,
      // Two keys are locked, two branches apply the transaction.
      checked: 4,
    });
  });

  it('break when a promised key is taken, also after a restart', () => {
    const taken = committed.replace('  n3 p.vote', '  n2 p.locks.taken t2 keys=k\n  n3 p.vote');
    expect(checkLocks(story(taken)).reasons).toEqual(['t2 takes n2 k, which t1 holds']);
    const restarted = 'n2 p.recovery.scan t1 phase=prepared keys=k\nn2 p.locks.taken t2 keys=k';
    expect(checkLocks(story(restarted)).ok).toBe(false);
  });

  it('hold for a key of a bucket that was flushed, beside the key of that name before the flush', () => {
    const isFine = (before: string, after: string): boolean => {
      const held = `n2 p.recovery.scan t1 phase=prepared ${before}`;
      return checkLocks(story(`${held}\nn2 p.locks.taken t2 ${after}`)).ok;
    };
    expect(isFine('keys=k', 'keys=k epochs=7')).toBe(true);
    expect(isFine('keys=j,k epochs=0,7', 'keys=i,k epochs=0,8')).toBe(true);
    expect(isFine('keys=j,k epochs=0,7', 'keys=i,k epochs=0,7')).toBe(false);
    expect(isFine('keys=j,k epochs=0,7', 'keys=j')).toBe(false);
  });

  it('break when a key is let go before the last one is taken, and not when the transaction does not happen', () => {
    const late = `
      n2 p.locks.taken t1 keys=k
      n2 p.vote.sent t1 vote=readOnly
      n2 p.locks.released t1
      n3 p.locks.taken t1 keys=m
      n3 p.vote.sent t1 vote=commit`;
    expect(checkLocks(story(late)).ok).toBe(true);
    expect(checkLocks(story(`${late}\nn3 p.applied.synced t1`)).reasons).toEqual([
      'n3 took its keys of t1 when n2 had let its own go',
    ]);
    const redone = `${late.replace('keys=m', 'keys=m phase=prepared')}\nn3 p.applied.synced t1`;
    expect(checkLocks(story(redone)).ok).toBe(true);
  });

  it("that a disk has lost are nobody else's before the branch is given again", () => {
    const lost = `
      n2 p.locks.taken t1 keys=k
      n2 p.vote.sent t1 vote=commit
      n2 disk.wiped -`;
    const again = 'n2 p.locks.taken t1 keys=k phase=prepared';
    const other = 'n2 p.locks.taken t2 keys=k';
    expect(checkLocks(story(`${lost}\n${again}`)).ok).toBe(true);
    expect(checkLocks(story(`${lost}\n${other}`)).ok).toBe(true);
    expect(checkLocks(story(`${lost}\n${other}\n${again}`)).reasons).toEqual([
      't1 takes n2 k again, which it had promised and t2 has taken meanwhile',
    ]);
  });

  it('are only those that a start finds, on a disk that has silently lost its newest records', () => {
    const lost = `
      n2 p.locks.taken t1 keys=k
      n2 p.vote.sent t1 vote=commit
      n2 disk.shortened -`;
    const found = 'n2 p.recovery.scan t1 phase=prepared keys=k';
    const other = 'n2 p.locks.taken t2 keys=k';
    expect(checkLocks(story(`${lost}\n${other}`)).ok).toBe(true);
    expect(checkLocks(story(`${lost}\n${found}\n${other}`)).ok).toBe(false);
    expect(checkLocks(story(`${lost.replace('n2 disk', 'n3 disk')}\n${other}`)).ok).toBe(false);
  });

  it("that a dead node has taken along are nobody else's before its replacement is given the branch", () => {
    const dead = `
      n2 p.locks.taken t1 keys=k
      n2 p.vote.sent t1 vote=commit`;
    const again = 'n4 p.locks.taken t1 keys=k phase=prepared';
    const other = 'n4 p.locks.taken t2 keys=k';
    const replacements = new Map([['n2', 'n4']]);
    expect(checkLocks(story(`${dead}\n${again}\n${other}`), replacements).reasons).toEqual([
      't2 takes n4 k, which t1 holds',
    ]);
    expect(checkLocks(story(`${dead}\n${other}`), replacements).ok).toBe(true);
    expect(checkLocks(story(`${dead}\n${other}\n${again}`), replacements).reasons).toEqual([
      't1 takes n4 k again, which it had promised and t2 has taken meanwhile',
    ]);
  });

  it('of different nodes have nothing to do with each other', () => {
    const taken = committed.replace('  n3 p.vote', '  n4 p.locks.taken t2 keys=k\n  n3 p.vote');
    expect(checkLocks(story(taken)).ok).toBe(true);
  });
});

describe('once (exactly-once)', () => {
  it('breaks when a branch carries a transaction out twice', () => {
    expect(checkOnce(story(committed))).toMatchObject({ ok: true, checked: 2 });
    const twice = checkOnce(story(`${committed}\nn2 p.applied.synced t1`));
    expect(twice.reasons).toEqual(['n2 carried out t1 2 times']);
  });

  it('breaks when two transactions with one idempotency key are applied', () => {
    const named = story(`
      n1 c.begin t1 client=mine
      n2 p.applied.synced t1
      n3 c.begin t2 client=mine
      n2 p.applied.synced t2
    `);
    expect(checkOnce(named).reasons).toEqual(['t2 carries out mine, which t1 has carried out']);
    expect(checkOnce(named.slice(0, 3))).toMatchObject({ ok: true, checked: 2 });
  });

  it('breaks when a retry after a known commit is told that nothing happened', () => {
    const denial = { atUs: 7, xid: 't2', reason: 'conflict: b/k belongs to the transaction t9' };
    const heard = { ...blankTransaction, clientId: 'mine', denials: [denial] };
    expect(checkRetries([heard])).toMatchObject({
      ok: false,
      firstBad: { atUs: 7 },
      reasons: [`mine was committed, and its repetition t2 was told: aborted, ${denial.reason}`],
    });
    const faithful = { ...blankTransaction, clientId: 'mine' };
    const unheard = { ...heard, outcome: 'unknown' } as const;
    expect(checkRetries([faithful, unheard, blankTransaction])).toMatchObject({ ok: true, checked: 1 });
  });
});
