import { expect, it } from 'vitest';

import { blankTransaction } from './transaction-fixture.ts';
import { historyEdn, historyJsonLines } from './export.ts';
import type { TransactionRecord } from './transactions.ts';

const history: readonly TransactionRecord[] = [
  {
    ...blankTransaction,
    ...{ id: 0, client: 'x1', kind: 'append', invokedUs: 5, completedUs: 9, outcome: 'ok' },
    reads: [{ key: 'lists/l0', value: undefined }],
    writes: [{ key: 'lists/l0', value: { tag: '', balance: undefined, list: [0, 1] }, durableCopies: 2 }],
  },
  {
    ...blankTransaction,
    ...{ id: 1, client: 'x0', kind: 'look', invokedUs: 7, completedUs: 8, outcome: 'fail', writes: [] },
    reads: [{ key: 'lists/l0', value: { tag: '', balance: undefined, list: [0, 1] } }],
  },
  {
    ...blankTransaction,
    ...{ id: 2, client: 'x0', kind: 'transfer', invokedUs: 9, completedUs: 9, outcome: 'ok', writes: [] },
    reads: [{ key: 'bank/a0', value: undefined }],
  },
];

it('a history in EDN is what Elle reads for list-append', () => {
  expect(historyEdn(history)).toBe(
    `[{:index 0, :type :invoke, :f :txn, :process 0, :time 5000, :value [[:r "lists/l0" nil] [:append "lists/l0" 0] [:append "lists/l0" 1]]}
 {:index 1, :type :invoke, :f :txn, :process 1, :time 7000, :value [[:r "lists/l0" nil]]}
 {:index 2, :type :fail, :f :txn, :process 1, :time 8000, :value [[:r "lists/l0" nil]]}
 {:index 3, :type :ok, :f :txn, :process 0, :time 9000, :value [[:r "lists/l0" []] [:append "lists/l0" 0] [:append "lists/l0" 1]]}]
`,
  );
});

it('a history in JSON lines has a line for each read and append', () => {
  const lines = historyJsonLines(history).trim().split('\n');
  expect(lines).toHaveLength(8);
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual({
    ...{ process: 0, type: 'ok', f: 'append', key: 'lists/l0', value: 1, time: 9000, txn: 0 },
  });
});
