import { expect, it } from 'vitest';

import { deleteAt, newestWins, putAt, readAt } from '../history-fixture.ts';
import { checkConditionalPuts } from './conditional-puts.ts';

const dots = new Map([
  ['A', { actor: 'n1.aa', counter: 1 }],
  ['B', { actor: 'n1.aa', counter: 2 }],
  ['C', { actor: 'n2.bb', counter: 9 }],
]);
const seen = readAt(10, ['A']);
const blind = readAt(10, []);

it('a put on condition of a context has seen every earlier put of its coordinator', () => {
  const after = putAt(20, 'B', { condition: 'unchanged', contextFrom: 10 });
  expect(checkConditionalPuts([putAt(1, 'A'), seen, after], dots)).toMatchObject({ ok: true, checked: 1 });
  expect(checkConditionalPuts([putAt(1, 'A'), blind, after], dots).ok).toBe(false);
  // The earlier put may have passed through the coordinator while the client read.
  const apart = putAt(20, 'C', { condition: 'unchanged', contextFrom: 10 });
  expect(checkConditionalPuts([putAt(1, 'A'), blind, apart], dots)).toMatchObject({ ok: true, checked: 0 });
});

it('a put on condition of absence follows the deletion of every earlier put of its coordinator', () => {
  const absent = putAt(20, 'B', { condition: 'absent' });
  expect(checkConditionalPuts([putAt(1, 'A'), absent], dots).ok).toBe(false);
  expect(checkConditionalPuts([putAt(1, 'A'), deleteAt(5), absent], dots).ok).toBe(true);
});

it('a put is refused as present only where some put can have been', () => {
  const refused = putAt(20, 'B', { condition: 'absent', outcome: 'fail', unmet: true });
  expect(checkConditionalPuts([refused], new Map()).ok).toBe(false);
  expect(checkConditionalPuts([putAt(1, 'A'), refused], new Map()).ok).toBe(true);
});

it('a put on condition that the key does not hold a value follows a write that may have replaced it', () => {
  const differs = putAt(20, 'B', { condition: 'differs', excluded: 'A' });
  expect(checkConditionalPuts([putAt(1, 'A'), seen, differs], dots)).toMatchObject({ ok: false, checked: 1 });
  const over = putAt(15, 'D', { contextFrom: 10 });
  expect(checkConditionalPuts([putAt(1, 'A'), seen, over, differs], dots).ok).toBe(true);
  const beside = putAt(15, 'D');
  expect(checkConditionalPuts([putAt(1, 'A'), seen, beside, differs], dots).ok).toBe(false);
  // Of puts through other replicas, the coordinator may not know.
  const apart = putAt(20, 'C', { condition: 'differs', excluded: 'A' });
  expect(checkConditionalPuts([putAt(1, 'A'), seen, apart], dots)).toMatchObject({ ok: true, checked: 0 });
});

it('an entity tag of a bucket without siblings does not name what counts as older', () => {
  const tagged = putAt(20, 'B', { condition: 'tag', contextFrom: 10 });
  const history = newestWins([putAt(1, 'A'), blind, tagged]);
  expect(checkConditionalPuts(history, dots)).toMatchObject({ ok: true, skipped: 1 });
});
