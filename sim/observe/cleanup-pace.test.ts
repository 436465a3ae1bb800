import { expect, it } from 'vitest';

import { CleanupPace } from './cleanup-pace.ts';

/** How many of the removals, each of 1,000 bytes and at a number of milliseconds, come too early at 10,000 bytes/s. */
function early(removalsMs: readonly number[], startedMs = -1): number {
  let nowUs = 0;
  const pace = new CleanupPace(
    () => nowUs,
    () => 10_000,
  );
  for (const ms of removalsMs) {
    if (startedMs >= nowUs / 1000 && startedMs < ms) pace.started('n1');
    nowUs = ms * 1000;
    pace.removed('n1', 1000);
  }
  return pace.records.lost.length;
}

it('a node rests after each removal for as long as its bytes take', () => {
  expect(early([0, 100, 200])).toBe(0);
  expect(early([0, 90, 200])).toBe(1);
});

it('a new incarnation owes no rest', () => {
  expect(early([0, 10], 5)).toBe(0);
});
