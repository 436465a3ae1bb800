import { expect, it } from 'vitest';

import type { DecisionRecord } from '../../evidence/operator-decisions.ts';
import { checkOperatorDecisions, mixedHeuristically } from './operator-decisions.ts';
import type { TransactionStep } from './transactions.ts';

const decision: DecisionRecord = {
  ...{
    id: 'f0',
    node: 'n2',
    atUs: 50,
    xid: 't1',
    decision: 'rollback',
    state: 'branch prepared',
    coordinator: 'n1',
  },
  ...{ answered: 'heuristic', after: 'branch heuristicRolledBack' },
};

/** The first reason, or an empty text. */
function complaint(
  over: Partial<DecisionRecord>,
  steps: readonly TransactionStep[] = [],
  forgetful: readonly string[] = [],
): string {
  return (
    checkOperatorDecisions({ decisions: [{ ...decision, ...over }], steps, forgetful, lost: [] })
      .reasons[0] ?? ''
  );
}

it('a branch that an operator has decided waits for its coordinator no more', () => {
  expect(complaint({})).toBe('');
  expect(complaint({ after: 'over' })).toBe('');
  expect(complaint({ after: 'branch prepared' })).toContain('lists it as prepared');
  expect(complaint({ after: 'branch prepared', answered: 'StorageFailed' })).toBe('');
});

it('no start finds such a branch prepared, except on a disk that lost records', () => {
  const step = { node: 'n2', xid: 't1' };
  const steps: readonly TransactionStep[] = [
    { ...step, atUs: 10, step: 'branch.decided', fields: { decision: 'rollback' } },
    { ...step, atUs: 20, step: 'p.recovery.scan', fields: { phase: 'prepared' } },
  ];
  expect(complaint({}, steps)).toContain("after an operator's rollback was recorded");
  expect(complaint({}, steps, ['n2'])).toBe('');
});

it('the decision is kept while its coordinator may still say what it decided', () => {
  const abandoned = { decision: 'abandon', state: 'branch heuristicRolledBack', after: 'over' } as const;
  expect(complaint(abandoned)).toContain('before n1, a member, had said');
  expect(complaint({ ...abandoned, answered: 'Conflict' })).toBe('');
  expect(complaint(abandoned, [], ['n1'])).toBe('');
});

it('a transaction is mixed where an operator and its coordinator decided differently, or a branch was abandoned', () => {
  const step = (name: string, xid: string, fields: TransactionStep['fields']): TransactionStep => {
    return { node: 'n2', xid, atUs: 10, step: name, fields };
  };
  const steps = [
    step('branch.decided', 'same', { decision: 'commit' }),
    step('branch.decided', 'kept-back', { decision: 'rollback' }),
    step('branch.decided', 'alone', { decision: 'commit' }),
    step('branch.decided', 'both-back', { decision: 'rollback' }),
    // The node crashed before it could trace its step.
    step('p.recovery.scan', 'found', { phase: 'heuristicCommitted' }),
    step('p.recovery.scan', 'compared', { phase: 'heuristicMixed' }),
    step('p.recovery.scan', 'prepared', { phase: 'prepared' }),
    step('decision.abandoned', 'given-up', { nodes: 'n3' }),
  ];
  const committed = new Set(['same', 'kept-back', 'found', 'compared', 'prepared', 'given-up']);
  expect([...mixedHeuristically(steps, committed)]).toEqual(['kept-back', 'alone', 'compared', 'given-up']);
});
