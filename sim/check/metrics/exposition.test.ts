import { expect, test } from 'vitest';

import { askewRollups } from './exposition.ts';
import { parseExposition } from './exposition-text.ts';

function askew(rollups: Readonly<Record<string, number>>): string | undefined {
  const lines = Object.entries(rollups).map(([quantile, value]) => `a{quantile="${quantile}"} ${value}\n`);
  const [family] = parseExposition(`# HELP a A.\n# TYPE a gauge\n${lines.join('')}`);
  return family && askewRollups(family);
}

test('rollups that no set of values has are found: percentiles that fall, a mean above or below what they leave', () => {
  expect(askew({ mean: 69_582, '0.95': 51_014, '0.99': 51_014, '0.999': 51_014, max: 98_749 })).toBe(
    'the rollups of a contradict each other: mean 69582, 0.95 51014, 0.99 51014, 0.999 51014, max 98749',
  );
  expect(askew({ mean: 20, '0.95': 10, '0.99': 10, '0.999': 10, max: 30 })).toContain('contradict');
  expect(askew({ mean: 5, '0.95': 10, '0.99': 9, '0.999': 10, max: 10 })).toContain('contradict');
  expect(askew({ mean: 5, '0.95': 10, '0.99': 10, '0.999': 11, max: 10 })).toContain('contradict');
  expect(askew({ mean: 11, '0.95': 10, '0.99': 10, '0.999': 10, max: 10 })).toContain('contradict');
  expect(askew({ mean: 1, '0.95': 1000, '0.99': 1000, '0.999': 1000, max: 1000 })).toContain('contradict');
  expect(askew({ mean: 1, '0.95': 1, '0.99': 1, '0.999': 1 })).toContain('contradict');
});

test('rollups of real values are not: none, one, two, and a tail that no percentile reaches', () => {
  expect(askew({ mean: 0, '0.95': 0, '0.99': 0, '0.999': 0, max: 0 })).toBeUndefined();
  expect(
    askew({ mean: 69_582, '0.95': 88_150, '0.99': 88_150, '0.999': 88_150, max: 98_749 }),
  ).toBeUndefined();
  expect(askew({ mean: 1001, '0.95': 1, '0.99': 1, '0.999': 1, max: 1_000_000 })).toBeUndefined();
  expect(askew({})).toBeUndefined();
});
