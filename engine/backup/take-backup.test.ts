/** Tests the pace of a copy. */
import { expect, test } from 'vitest';

import { intervalUs } from './take-backup.ts';

const mebibyte = 1024 * 1024;
const pace = { bytesPerSecond: 16 * mebibyte, askingShare: 0.05 };

test('an idle node is asked at the limit, and a busy one as much less often as it answers later', () => {
  expect(intervalUs(1000, mebibyte, pace)).toBe(62_500);
  expect(intervalUs(3125, mebibyte, pace)).toBe(62_500);
  expect(intervalUs(25_000, mebibyte, pace)).toBe(500_000);
  expect(intervalUs(50_000, mebibyte, pace)).toBe(1_000_000);
});

test('a node that was paused is asked again after two seconds at most', () => {
  expect(intervalUs(5_000_000, mebibyte, pace)).toBe(7_000_000);
});

test('a pace that an operator sets is kept however late a node answers', () => {
  expect(intervalUs(50_000, mebibyte, { ...pace, askingShare: 1 })).toBe(62_500);
});

test('the end of a segment takes a part of the time of a full chunk', () => {
  expect(intervalUs(0, mebibyte / 4, pace)).toBe(15_625);
});
