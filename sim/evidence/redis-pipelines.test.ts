import { expect, it } from 'vitest';

import { eachValueIn, pipelineCommands } from './redis-pipelines.ts';

it('values of pipelines are found among other bytes, whole, and each names its write and key', () => {
  const values = Array.from({ length: 40 }, (_, index) => {
    return pipelineCommands({ id: `o${index}`, amount: 1 + index * 7_919 }).flatMap((one) => one.values);
  }).flat();
  expect(new Set(values).size).toBe(values.length);
  const bytes = Buffer.from(values.map((value) => `a427x${value}4`).join(''));
  const found: number[] = [];
  eachValueIn(bytes, 0, bytes.length, (value) => found.push(value));
  expect(found).toEqual(values);
  const cut: number[] = [];
  eachValueIn(bytes, 0, 12, (value) => cut.push(value));
  expect(cut).toEqual([]);
});
