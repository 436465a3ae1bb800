/** The pace of anti-entropy, and its end. */
import { expect, test } from 'vitest';

import { settle, TestClock } from '../api/testing/test-io.fixture.ts';
import { Throttle } from './throttle.ts';

/** How many of `wanted` keys, spent one by one, are granted within `seconds`. */
async function grantedIn(seconds: number, keysPerSecond: number, wanted: number): Promise<number> {
  const clock = new TestClock();
  const throttle = new Throttle(clock, keysPerSecond);
  let granted = 0;
  const spendAll = async (): Promise<void> => {
    while (granted < wanted) {
      await throttle.spend(1);
      granted += 1;
    }
  };
  const spending = spendAll().catch(() => undefined);
  for (let tenth = 0; tenth < 10 * seconds; tenth++) {
    await settle(200);
    clock.advance(100_000);
  }
  await settle(200);
  const within = granted;
  throttle.stop();
  await spending;
  return within;
}

test.each([1, 5, 19, 100])('%i keys a second are about as many', async (keysPerSecond) => {
  const granted = await grantedIn(10, keysPerSecond, 2000);
  expect(granted).toBeGreaterThanOrEqual(10 * keysPerSecond - 1);
  expect(granted).toBeLessThanOrEqual(11 * keysPerSecond + 1);
});

test('those that wait, and those that come later, are refused once it stops', async () => {
  const clock = new TestClock();
  const throttle = new Throttle(clock, 10);
  const waiting = throttle.spend(1000).then(
    () => 'granted',
    (error: unknown) => error,
  );
  await settle();
  throttle.stop();
  expect(await waiting).toMatchObject({ code: 'ShuttingDown' });
  await expect(throttle.spend(1)).rejects.toMatchObject({ code: 'ShuttingDown' });
  await expect(throttle.pause()).rejects.toMatchObject({ code: 'ShuttingDown' });
});

test('without a limit it still ends', async () => {
  const throttle = new Throttle(new TestClock(), 0);
  await throttle.spend(1_000_000);
  throttle.stop();
  await expect(throttle.spend(1)).rejects.toMatchObject({ code: 'ShuttingDown' });
});
