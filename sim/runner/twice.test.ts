import { expect, it } from 'vitest';

import { isRunTwice } from './twice.ts';

const seeds = Array.from({ length: 800 }, (_, seed) => seed);

it('about an eighth of the seeds runs twice, and other seeds of another scenario', () => {
  const ofOne = seeds.filter((seed) => isRunTwice('calm', seed, 'eighth'));
  const ofOther = seeds.filter((seed) => isRunTwice('bit-rot', seed, 'eighth'));
  expect(ofOne.length).toBeGreaterThan(60);
  expect(ofOne.length).toBeLessThan(140);
  expect(ofOther).not.toEqual(ofOne);
});

it('with `all` every seed does', () => {
  expect(seeds.every((seed) => isRunTwice('calm', seed, 'all'))).toBe(true);
});
