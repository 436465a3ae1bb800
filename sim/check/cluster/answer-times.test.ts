import { expect, it } from 'vitest';

import type { AnswerTime } from './answer-times.ts';
import { checkAnswerTimes } from './answer-times.ts';

const one: AnswerTime = {
  ...{ node: 'n1', what: 'get over HTTP', atUs: 5_000_000, allowedUs: 100_000, tookUs: 100_000 },
  ...{ lateUs: 0, hasId: false, answered: true },
};

function isOk(over: Partial<AnswerTime>): boolean {
  return checkAnswerTimes([{ ...one, ...over }]).ok;
}

it('accepts answers that come in time, or as late as timers may be', () => {
  expect(isOk({})).toBe(true);
  expect(isOk({ tookUs: 150_000 })).toBe(true);
  expect(isOk({ tookUs: 150_001 })).toBe(false);
  expect(isOk({ tookUs: 190_000, lateUs: 20_000 })).toBe(true);
});

it('gives the fence of an idempotency key a quarter more, and nothing else', () => {
  const long = { allowedUs: 1_000_000, tookUs: 1_300_000 };
  expect(isOk({ ...long, hasId: true })).toBe(true);
  expect(isOk(long)).toBe(false);
  expect(isOk({ ...long, tookUs: 1_300_001, hasId: true })).toBe(false);
});

it('names what waits too long, answered or not', () => {
  const text = (answered: boolean): readonly string[] =>
    checkAnswerTimes([{ ...one, tookUs: 700_000, answered }]).reasons.map((reason) => reason);
  expect(text(true)[0]).toContain('n1: a get over HTTP that had 100 ms was answered after 700 ms');
  expect(text(false)[0]).toContain('had no answer for 700 ms');
});
