import { expect, it } from 'vitest';

import { planOfSeed } from '../runner/task.ts';
import { busyTimesOf } from './busy.ts';
import type { Plan } from './plan.ts';

const whole = planOfSeed('calm', 1);
const [one] = whole.operations;

it('a client is busy from when it begins an item until it thinks about the next one', () => {
  const operations = ['o0', 'o1', 'o2'].flatMap((id) =>
    one === undefined ? [] : [{ ...one, id, client: 2, thinkUs: 10 }],
  );
  const plan: Plan = { ...whole, operations: [...operations], transactions: [] };
  const begun = [700, 100, 190].map((invokedUs) => ({ client: 'c2', invokedUs }));
  expect(busyTimesOf(plan, [...begun, { client: 'c1', invokedUs: 150 }])).toEqual({ o0: 80, o1: 500 });
});

it('of what was not begun nothing is known', () => {
  expect(busyTimesOf(whole, [])).toEqual({});
});
