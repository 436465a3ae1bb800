import { expect, it } from 'vitest';

import type { AnswerTime } from '../check/cluster/answer-times.ts';
import { AnswerTimes } from './answer-times.ts';

function harness() {
  const clock = { ranUs: -500, lateUs: 0, atUs: 0 };
  const records: AnswerTime[] = [];
  const times = new AnswerTimes('n1', () => ({ ...clock }), records);
  const ask = (connection: number, allowedMs: number | undefined): void =>
    times.asked(connection, { what: 'get', allowedMs, hasId: false });
  const pass = (us: number): void => void (clock.ranUs += us);
  const took = (): readonly (readonly [number, boolean])[] =>
    records.map(({ tookUs, answered }) => [tookUs, answered]);
  return { times, ask, pass, took };
}

it('measures a request from its arrival, and one behind it from the answer before', () => {
  const { times, ask, pass, took } = harness();
  ask(1, 10);
  pass(100);
  ask(1, 10);
  pass(200);
  times.answered(1);
  pass(50);
  times.answered(1);
  pass(1000);
  ask(1, 10);
  pass(7);
  times.answered(1);
  expect(took()).toEqual([
    [300, true],
    [50, true],
    [7, true],
  ]);
});

it('measures only requests that state a time, each connection for itself', () => {
  const { times, ask, pass, took } = harness();
  ask(1, undefined);
  ask(2, 10);
  pass(20);
  times.answered(1);
  times.answered(2);
  expect(took()).toEqual([[20, true]]);
});

it('notes how long the oldest request had waited when its connection ended', () => {
  const { times, ask, pass, took } = harness();
  ask(1, 10);
  pass(90);
  ask(1, 10);
  times.closed(1);
  times.closed(1);
  times.answered(1);
  expect(took()).toEqual([[90, false]]);
});
