import { expect, test } from 'vitest';

import { parseDurationMs } from './durations.ts';

test.each([
  ['500ms', 500],
  ['90s', 90_000],
  ['1.5m', 90_000],
  ['1h', 3_600_000],
  ['0s', 0],
])('%s is %d milliseconds', (text, ms) => {
  expect(parseDurationMs(text)).toBe(ms);
});

test.each([
  ['10', '"10" has no unit; write a number with ms, s, m or h: 500ms, 90s, 5m, 1h'],
  ['1.5', '"1.5" has no unit'],
  ['', '"" is not a duration'],
  ['10d', '"10d" is not a duration'],
  ['-5s', '"-5s" is not a duration'],
  ['5 s', '"5 s" is not a duration'],
  ['soon', '"soon" is not a duration'],
])('%j is refused with the allowed forms', (text, complaint) => {
  expect(() => parseDurationMs(text)).toThrow(complaint);
});
