import { describe, expect, it } from 'vitest';

import { blankTransaction } from '../../evidence/transaction-fixture.ts';
import type { SeenKey, TransactionHistory, TransactionRecord } from '../../evidence/transactions.ts';
import { checkIsolation } from './isolation.ts';

/** `#id` reads the lists that it names and appends its own id to the lists in `appends`. */
interface Told {
  readonly reads?: Readonly<Record<string, readonly number[]>>;
  readonly appends?: readonly string[];
  readonly outcome?: TransactionRecord['outcome'];
  readonly atUs?: readonly [invoked: number, completed: number];
}

function historyOf(...told: readonly Told[]): TransactionHistory {
  return told.map(({ reads = {}, appends = [], outcome = 'ok', atUs = [0, 1000] }, id) => {
    const seen: SeenKey[] = Object.entries(reads).map(([key, list]) => ({
      key: `lists/${key}`,
      value: { tag: '', balance: undefined, list },
    }));
    return {
      ...blankTransaction,
      id,
      outcome,
      reads: seen,
      writes: appends.map((key) => ({ key: `lists/${key}`, value: undefined, durableCopies: undefined })),
      invokedUs: atUs[0],
      completedUs: atUs[1],
    };
  });
}

function anomaliesOf(...told: readonly Told[]): readonly string[] {
  return checkIsolation(historyOf(...told), new Set()).reasons.map((reason) => reason.split(':')[0] ?? '');
}

describe('isolation', () => {
  it('holds for transactions one after the other, and for those that do not meet', () => {
    const first = { reads: { a: [] }, appends: ['a'] };
    const second = { reads: { a: [0] }, appends: ['a'] };
    expect(anomaliesOf(first, second, { reads: { a: [0, 10], b: [] } })).toEqual([]);
  });

  it('finds a read that is no prefix of another', () => {
    const told = [{ appends: ['a'] }, { appends: ['a'] }, { reads: { a: [0, 10] } }, { reads: { a: [10] } }];
    expect(anomaliesOf(...told)).toContain('incompatible order');
  });

  it('finds a read of an aborted append, and of half of an append', () => {
    expect(anomaliesOf({ outcome: 'fail' }, { reads: { a: [0] } })).toEqual(['G1a']);
    expect(anomaliesOf({}, { reads: { a: [0] } }, { reads: { a: [0, 1] } })).toEqual(['G1b']);
  });

  it('finds writes in opposite orders', () => {
    const told = [{}, {}, { reads: { a: [0, 10], b: [10, 0] } }];
    expect(anomaliesOf(...told)).toContain('G0');
  });

  it('finds two transactions that have read each other', () => {
    const told = [{ reads: { b: [10] } }, { reads: { a: [0] } }];
    expect(anomaliesOf(...told)).toEqual(['G1c']);
  });

  it('finds one half of a transaction seen and the other not', () => {
    const told = [{ reads: { a: [], b: [] } }, { reads: { a: [0], b: [] } }, { reads: { b: [0] } }];
    expect(anomaliesOf(...told)).toEqual(['G-single']);
  });

  it('finds two transactions that have missed each other', () => {
    const told = [
      { reads: { a: [], b: [] }, appends: ['b'] },
      { reads: { a: [], b: [] }, appends: ['a'] },
      { reads: { a: [10], b: [0] } },
    ];
    expect(anomaliesOf(...told)).toEqual(['G2']);
  });

  it('finds a stale read', () => {
    const told: readonly Told[] = [
      { reads: { a: [] }, atUs: [0, 100] },
      { reads: { a: [] }, atUs: [200, 300] },
      { reads: { a: [0] }, atUs: [400, 500] },
    ];
    expect(anomaliesOf(...told)).toEqual(['G-single-realtime']);
    expect(anomaliesOf(...told.map((one) => ({ ...one, atUs: [0, 500] as const })))).toEqual([]);
  });

  it('counts a transaction of unknown outcome once a read shows its append', () => {
    const told: readonly Told[] = [
      { reads: { a: [], b: [] }, outcome: 'unknown' },
      { reads: { a: [0], b: [] } },
      { reads: { b: [0] } },
    ];
    expect(anomaliesOf(...told)).toEqual(['G-single']);
    expect(anomaliesOf({ reads: { a: [], b: [] }, outcome: 'unknown' }, { reads: { a: [], b: [] } })).toEqual(
      [],
    );
  });

  it('judges as many transactions as a soak of half an hour has, and finds the one cycle at their end', () => {
    const told: Told[] = Array.from({ length: 4000 }, (_, id) => ({
      reads: { [`l${id}`]: [] },
      appends: [`l${id}`],
      atUs: [id * 10, id * 10 + 5],
    }));
    const late = [{ reads: { b: [40010] } }, { reads: { a: [40000] } }];
    expect(anomaliesOf(...told)).toEqual([]);
    expect(anomaliesOf(...told, ...late)).toEqual(['G1c']);
  });
});
