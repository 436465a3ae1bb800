import { describe, expect, it } from 'vitest';

import { OperatorObserver } from './operator-observer.ts';

/**
 * Plays one event a line (such as `branch.decided commit`, at a branch of `t1`), a microsecond apart, and returns the
 * number of mixed branches.
 */
function mixedAfter(text: string, committed: readonly string[]): number {
  const witness = new OperatorObserver(new Set(committed));
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  lines.forEach((line, index) => {
    const [name = '', word = ''] = line.split(' ');
    witness.happened(`xa.${name}`, 't1', { decision: word, phase: word }, index);
  });
  return witness.mixed(lines.length);
}

const rolledBack = `
  branch.decided rollback
  p.decision.recv commit
  branch.mixed
  p.ack.sent
`;

describe('an operator’s decision', () => {
  it('is mixed once, where the coordinator has committed and the branch has received the commit', () => {
    expect(mixedAfter(rolledBack, ['t1'])).toBe(1);
    expect(mixedAfter(`${rolledBack}p.decision.recv commit\nbranch.mixed\np.ack.sent`, ['t1'])).toBe(1);
    expect(mixedAfter('branch.decided rollback', ['t1'])).toBe(0);
    const early = `branch.resolving\np.decision.recv commit\nbranch.decided rollback\n`;
    expect(mixedAfter(`${early}branch.mixed`, ['t1'])).toBe(1);
    expect(mixedAfter(early.replace('decided', 'unresolved'), ['t1'])).toBe(0);
  });

  it('is mixed whether the branch says so or not, before and after a restart', () => {
    expect(mixedAfter(rolledBack.replace('branch.mixed', ''), ['t1'])).toBe(1);
    expect(mixedAfter('branch.decided commit\np.decision.recv rollback', [])).toBe(1);
    const found = rolledBack.replace('branch.decided rollback', 'p.recovery.scan heuristicRolledBack');
    expect(mixedAfter(found, ['t1'])).toBe(1);
    expect(mixedAfter(found.replace('heuristicRolledBack', 'heuristicMixed'), ['t1'])).toBe(0);
  });

  it('that agrees with the coordinator’s is not, whatever the branch received and reports', () => {
    const agreed = 'branch.decided commit\np.decision.recv rollback\nbranch.mixed';
    expect(mixedAfter(agreed, ['t1'])).toBe(0);
    expect(mixedAfter('branch.decided rollback\np.decision.recv rollback', [])).toBe(0);
    // A branch with nothing to write, whose coordinator has forgotten the transaction.
    expect(mixedAfter('branch.decided rollback\np.decision.recv rollback', ['t1'])).toBe(0);
    expect(mixedAfter('p.decision.recv commit\nbranch.mixed', ['t1'])).toBe(0);
  });
});
