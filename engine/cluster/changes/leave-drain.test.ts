/** What a leaving node waits for before it leaves. */
import { expect, test } from 'vitest';

import { settle, TestClock, TestLog } from '../../api/testing/test-io.fixture.ts';
import { LeaveDrain } from './leave-drain.ts';

/** A drain of which a test says what is left. */
function drainOf(rest: { hints: number; transactions: number; spread: boolean }): {
  readonly clock: TestClock;
  readonly closed: string[];
  readonly drain: LeaveDrain;
} {
  const clock = new TestClock();
  const closed: string[] = [];
  const drain = new LeaveDrain(
    {
      io: { clock, log: new TestLog() },
      closeTransactions: () => void closed.push('transactions'),
      closeProperties: () => void closed.push('properties'),
      propertiesHaveSpread: () => rest.spread,
      transactions: () => rest.transactions,
      handOnHints: () => Promise.resolve(rest.hints),
    },
    { patienceUs: 10_000_000, roundUs: 1_000_000 },
  );
  return { clock, closed, drain };
}

async function pass(clock: TestClock, seconds: number): Promise<void> {
  for (let step = 0; step < seconds * 5; step++) {
    clock.advance(200_000);
    await settle();
  }
}

test.each([
  ['hints', { hints: 1 }],
  ['transactions', { transactions: 1 }],
  ['bucket properties that no other member has', { spread: false }],
])('a leaving node waits for %s, no longer than its patience', async (_, left) => {
  const none = { hints: 0, transactions: 0, spread: true };
  for (const isSettled of [true, false]) {
    const rest = { ...none, ...left };
    const { clock, closed, drain } = drainOf(rest);
    const ends: boolean[] = [];
    const settled = drain.settle(() => true).then((ended) => ends.push(ended));
    expect(closed).toEqual(['transactions', 'properties']);
    await pass(clock, 5);
    expect(ends).toEqual([]);
    if (isSettled) Object.assign(rest, none);
    await pass(clock, isSettled ? 2 : 6);
    await settled;
    expect(ends).toEqual([true]);
  }
});
