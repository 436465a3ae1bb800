import { expect, it } from 'vitest';

import { checkForgotten, checkRecordsKept } from './remembered.ts';

it('a decided transaction is known for the retention time', () => {
  const answers = [{ atUs: 900, node: 'n1', xid: 'n1-a-1' }];
  const decided = new Map([['n1-a-1', 100]]);
  expect(checkForgotten(answers, decided, 1_000).reasons[0]).toContain('n1 knows nothing of n1-a-1');
  expect(checkForgotten(answers, decided, 800)).toMatchObject({ ok: true, skipped: 1 });
  expect(checkForgotten(answers, new Map(), 1_000)).toMatchObject({ ok: true, skipped: 1 });
  expect(checkForgotten(answers, decided, undefined)).toMatchObject({ ok: true, skipped: 1 });
});

it('nothing is kept beyond it', () => {
  const kept = { node: 'n1', atUs: 5, names: ['xa.client/c1'] };
  expect(checkRecordsKept([kept]).reasons[0]).toContain('xa.client/c1');
  expect(checkRecordsKept([{ ...kept, names: [] }])).toMatchObject({ ok: true, checked: 1 });
});
