import { expect, test } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import { Pauses } from './pauses.ts';

test('a pause ends after its time, or when its owner stops, and never twice', () => {
  const clock = new TestClock();
  const pauses = new Pauses(clock);
  const ended: string[] = [];
  const take = (name: string, us: number): ReturnType<Pauses['take']> =>
    pauses.take(us, (stopped) => void ended.push(`${name} ${stopped ? 'stopped' : 'over'}`));
  take('a', 100);
  take('b', 1000);
  take('c', 100).cancel();
  clock.advance(100);
  expect(ended).toEqual(['a over']);
  pauses.stop();
  expect(ended).toEqual(['a over', 'b stopped']);
  take('d', 10);
  clock.advance(10_000);
  expect([ended.slice(2), pauses.stopped]).toEqual([['d stopped'], true]);
});
