import { expect, it } from 'vitest';

import { RequestIds } from './request-ids.ts';

it('ids count up from 1', () => {
  const ids = new RequestIds();
  expect([ids.next(), ids.next(), ids.haveComeRound]).toEqual([1, 2, false]);
});

it('the first id follows the last one, and from then on an id may belong to a request under way', () => {
  const ids = new RequestIds(0xfffffffe);
  expect([ids.next(), ids.haveComeRound]).toEqual([0xffffffff, false]);
  expect([ids.next(), ids.haveComeRound]).toEqual([1, true]);
  expect([ids.next(), ids.haveComeRound]).toEqual([2, true]);
});
