import { describe, expect, it } from 'vitest';

import { blankTransaction } from '../../evidence/transaction-fixture.ts';
import type { TransactionRecord, TransactionValue } from '../../evidence/transactions.ts';
import { checkTransactionValues } from './transaction-values.ts';

const holding = (tag: string, balance: number): TransactionValue => ({ tag, balance, list: undefined });

/** Moves 10 between accounts that hold what is given. */
function transfer(
  id: number,
  held: Readonly<Record<string, TransactionValue | undefined>>,
  outcome: TransactionRecord['outcome'] = 'ok',
): TransactionRecord {
  const reads = Object.entries(held).map(([key, value]) => ({ key, value }));
  const writes = reads.map(({ key, value }, index) => ({
    key,
    value: holding(`t${id}.${index}`, (value?.balance ?? 100) + (index === 0 ? -10 : 10)),
    durableCopies: undefined,
  }));
  return { ...blankTransaction, id, kind: 'transfer', reads, writes, outcome };
}

function look(held: Readonly<Record<string, TransactionValue | undefined>>): TransactionRecord {
  const reads = Object.entries(held).map(([key, value]) => ({ key, value }));
  return { ...blankTransaction, id: 99, kind: 'look', reads, writes: [], final: true };
}

const first = transfer(0, { 'bank/a': undefined, 'bank/b': undefined });
const second = transfer(1, { 'bank/b': holding('t0.1', 110), 'bank/c': undefined }, 'unknown');
const moved = {
  'bank/a': holding('t0.0', 90),
  'bank/b': holding('t1.0', 100),
  'bank/c': holding('t1.1', 110),
};

const reasonsOf = (
  held: Readonly<Record<string, TransactionValue | undefined>>,
  ...excused: string[]
): readonly string[] => checkTransactionValues([first, second, look(held)], 3, 100, new Set(excused)).reasons;

describe('triples (atomicity)', () => {
  const restamp = (tags: readonly string[], outcome: TransactionRecord['outcome']): TransactionRecord => {
    const reads = tags.map((tag, index) => ({
      key: `triples/s0.${index}`,
      value: tag === '' ? undefined : holding(tag, 0),
    }));
    return { ...blankTransaction, id: 2, kind: 'restamp', reads, writes: [], outcome };
  };
  const reasons = (tags: readonly string[], outcome: TransactionRecord['outcome']): readonly string[] =>
    checkTransactionValues([restamp(tags, outcome)], 0, 100, new Set()).reasons;

  it('hold one transaction’s values, or none’s, for a committed transaction that reads them', () => {
    expect(reasons(['«w:x1:t5.0»', '«w:x1:t5.1»', '«w:x1:t5.2»'], 'ok')).toEqual([]);
    expect(reasons(['', '', ''], 'ok')).toEqual([]);
    const [torn] = reasons(['«w:x1:t5.0»', '', '«w:x1:t5.2»'], 'ok');
    expect(torn).toContain('saw half of a transaction');
    expect(reasons(['«w:x1:t5.0»', '', ''], 'fail')).toEqual([]);
  });
});

describe('accounts (atomicity)', () => {
  it('hold what the transfers between them left', () => {
    expect(reasonsOf(moved)).toEqual([]);
    expect(reasonsOf({ ...moved, 'bank/b': holding('t0.1', 110), 'bank/c': undefined })).toEqual([]);
  });

  it('break the check when a transfer moved one of them and not the other', () => {
    const [sum, torn] = reasonsOf({ ...moved, 'bank/c': undefined });
    expect(sum).toContain('the accounts hold 290, not 300');
    expect(torn).toContain('did not move bank/c');
  });

  it('are judged beside one that is excused', () => {
    expect(reasonsOf({ ...moved, 'bank/c': undefined }, 'bank/c')).toEqual([]);
    const [torn] = reasonsOf({ ...moved, 'bank/a': undefined }, 'bank/c');
    expect(torn).toContain('did not move bank/a');
  });
});
