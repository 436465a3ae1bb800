import { expect, test } from 'vitest';

import { TestLog } from '../api/testing/test-io.fixture.ts';
import { byteStringOf } from '../base/ids.ts';
import { RequestTimes } from '../base/request-times.ts';
import { slowLinesMax, SlowRequests } from './slow-requests.ts';

test('a slow request is logged with where its time went, a quicker one is not', () => {
  const log = new TestLog();
  const slow = new SlowRequests(log, 100);
  const times = slow.timesOf(1_000);
  if (times === undefined) throw new Error('the log is on');
  times.bucket = byteStringOf('carts');
  times.dispatched(11_000);
  times.asked(13_000);
  times.synced(43_000);
  times.concluded(98_000);
  slow.answered(99_999, 'http', 'put', times, 'id-1');
  expect(log.events).toEqual([]);
  slow.answered(100_000, 'http', 'put', times, 'id-1');
  expect(log.events).toEqual([
    {
      level: 'warn',
      name: 'api.request.slow',
      fields: {
        ...{ protocol: 'http', operation: 'put', bucket: 'carts', requestId: 'id-1', ms: 100 },
        ...{ waitMs: 10, planMs: 2, replicasMs: 85, syncMs: 30, answerMs: 3 },
      },
    },
  ]);
});

test('of a flood of slow requests a few are logged, and the next line counts the others', () => {
  const log = new TestLog();
  const slow = new SlowRequests(log, 1);
  const answer = (startUs: number): void =>
    slow.answered(2_000, 'redis', 'get', new RequestTimes(startUs), undefined);
  for (let count = 0; count < slowLinesMax + 7; count++) answer(5_000_000 + count);
  expect(log.events).toHaveLength(slowLinesMax);
  answer(7_000_000);
  expect(log.events.at(-1)?.fields).toMatchObject({ unlogged: 7, answerMs: 2 });
});

test('nothing is noted while the log is off', () => {
  expect(new SlowRequests(new TestLog(), 0).timesOf(1)).toBeUndefined();
});

test('the steps of a request of several dispatches add up', () => {
  const times = new RequestTimes(0);
  for (const begun of [10, 100]) {
    times.dispatched(begun);
    times.asked(begun + 1);
    times.concluded(begun + 6);
  }
  const { waitUs, planUs, replicasUs } = times;
  expect({ waitUs, planUs, replicasUs, answerUs: times.answerUs(110) }).toEqual({
    waitUs: 10,
    planUs: 2,
    replicasUs: 10,
    answerUs: 4,
  });
});
