import { describe, expect, it } from 'vitest';

import { blankTransaction } from '../../evidence/transaction-fixture.ts';
import type { TransactionRecord, TransactionValue } from '../../evidence/transactions.ts';
import type { CheckReport } from '../report.ts';
import { checkTransactionDurability } from './transaction-durability.ts';

const key = 'lists/l0';

/** An append that began at `completedUs - 100`, read the value that `read` wrote, and has one copy. */
function append(id: number, completedUs: number, read?: number): TransactionRecord {
  const valueOf = (of: number): TransactionValue => ({ tag: `«w:${of}»`, balance: undefined, list: [of] });
  return {
    ...blankTransaction,
    id,
    planned: `t${id}`,
    need: 2,
    reads: [{ key, value: read === undefined ? undefined : valueOf(read) }],
    writes: [{ key, value: valueOf(id), durableCopies: 1 }],
    invokedUs: completedUs - 100,
    completedUs,
  };
}

const broken = (history: readonly TransactionRecord[]): number =>
  checkTransactionDurability([], history).reasons.length;

describe('a committed value with fewer copies than its level names', () => {
  it('is lost for certain when nothing came after it', () => {
    expect(broken([append(1, 1000)])).toBe(1);
  });

  it('is excused by a disk that lost a copy and did not say so while the transaction ran', () => {
    const lost = (from: number, to: number): number => (from <= 950 && 950 <= to ? 1 : 0);
    expect(checkTransactionDurability([], [append(1, 1000)], lost).reasons).toEqual([]);
    expect(checkTransactionDurability([], [append(1, 900)], lost).reasons.length).toBe(1);
  });

  it('may have been replaced by what a transaction wrote that read it before it was answered', () => {
    expect(broken([append(1, 1000), { ...append(2, 1050, 1), writes: [] }])).toBe(1);
    const history = [append(1, 1000), append(2, 1050, 1)];
    const report = checkTransactionDurability([], history);
    expect(report).toMatchObject({ checked: 1, skipped: 1, firstBad: { atUs: 1050 } });
  });

  it('was not replaced by one that read another value, was aborted, began later, or was over before', () => {
    expect(broken([append(1, 1000), append(2, 1050)])).toBe(2);
    expect(broken([append(1, 1000), { ...append(2, 1050, 1), outcome: 'fail' }])).toBe(1);
    expect(broken([append(1, 1000), append(2, 1200, 1)])).toBe(2);
    expect(broken([append(1, 1000), append(2, 900, 1)])).toBe(2);
  });

  it('may have been replaced by what was written meanwhile whatever the key held, or by what may yet be', () => {
    const doubted = { ...append(2, 500), reads: [], outcome: 'unknown' as const };
    expect(broken([append(1, 1000), doubted])).toBe(0);
    const blind = { ...append(2, 1050), reads: [] };
    expect(checkTransactionDurability([], [append(1, 1000), blind])).toMatchObject({
      checked: 1,
      skipped: 1,
    });
  });
});

it('a value made from an older one than the newest is lost for certain, unless a disk lost its newest records', () => {
  const history = [
    { ...append(1, 1000), writes: [] },
    { ...append(2, 2000, 1), need: 1 },
    { ...append(3, 3000, 2), need: 1 },
    append(4, 4000, 2),
  ];
  const brokenWith = (atUs: number): number => {
    const start = { atUs, node: 'n1', step: 'disk.shortened', xid: '', fields: {} };
    return checkTransactionDurability([start], history).reasons.length;
  };
  expect(broken(history)).toBe(1);
  expect([2800, 3500, 4100].map(brokenWith)).toEqual([1, 0, 1]);
  // It knew the newest one.
  history[3] = append(4, 4000, 3);
  expect(brokenWith(3500)).toBe(1);
});

describe('a vote whose record is not durable', () => {
  const vote = (fields: Readonly<Record<string, boolean>>): CheckReport =>
    checkTransactionDurability(
      [{ atUs: 7, node: 'n1', step: 'p.vote.sent', xid: 'n2-1', fields: { vote: 'commit', ...fields } }],
      [],
    );

  it('breaks the promise', () => {
    expect(vote({ durable: false })).toMatchObject({ checked: 1, firstBad: { atUs: 7 } });
  });

  it('is skipped if the disk lied about the sync of that record, and is compared if it is durable all the same', () => {
    expect(vote({ durable: false, lied: true })).toMatchObject({ checked: 0, skipped: 1, reasons: [] });
    expect(vote({ durable: true, lied: true })).toMatchObject({ checked: 1, skipped: 0, reasons: [] });
  });
});
