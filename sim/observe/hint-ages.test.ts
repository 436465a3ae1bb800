import { expect, it } from 'vitest';

import { HintAges } from './hint-ages.ts';

const secondMs = 1_000;

function agesOf(clocks: { localUs: number; wallMs: number }, mayMisread = false): HintAges {
  return new HintAges(
    () => clocks,
    () => 2 * secondMs,
    () => mayMisread,
  );
}

it('a jump of the wall clock makes no hint too old; time that passes does', () => {
  const clocks = { localUs: 0, wallMs: 50_000 };
  const ages = agesOf(clocks);
  ages.began('n1', undefined);
  clocks.wallMs += 90_000;
  expect(ages.isTooOld('n1', 50_000)).toBe(false);
  clocks.localUs += 2_000_001;
  expect(ages.isTooOld('n1', 50_000)).toBe(true);
  expect(ages.isTooOld('n1', 50_001)).toBe(false);
});

it('a start goes on from the newest hint of the disk, or from the wall clock if it may not have read that', () => {
  const clocks = { localUs: 7_000_000, wallMs: 90_000 };
  const [sure, unsure] = [agesOf(clocks), agesOf(clocks, true)];
  for (const ages of [sure, unsure]) ages.began('n1', 50_000);
  expect(sure.isTooOld('n1', 49_000)).toBe(false);
  expect(unsure.isTooOld('n1', 49_000)).toBe(true);
});
