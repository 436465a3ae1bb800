import fc from 'fast-check';
import { expect, it } from 'vitest';

import type { RunResult } from './result.ts';
import { brokenReport, reportOf, resultOf } from './result-fixture.ts';
import { addResult, addTally, emptyTally, summaryOf } from './tally.ts';
import type { Tally } from './tally.ts';

const result: fc.Arbitrary<Omit<RunResult, 'seed'>> = fc.oneof(
  fc.constant(resultOf()),
  fc.constant(resultOf({ verdict: 'unknown', reports: [] })),
  fc
    .tuple(fc.constantFrom('lost', 'torn', 'seen twice'), fc.integer({ min: 1, max: 9 }))
    .map(([text, atUs]) => resultOf({ verdict: 'failed', reports: [brokenReport(atUs, text), reportOf()] })),
);

function tallyOf(results: readonly RunResult[]): Tally {
  const tally = emptyTally();
  for (const one of results) addResult(tally, one);
  return tally;
}

it('the parts of a campaign, saved, read again and merged in any order, are the whole of it', () => {
  const campaign = fc.tuple(
    fc.array(result, { maxLength: 70 }),
    fc.integer({ min: 1, max: 4 }),
    fc.boolean(),
  );
  fc.assert(
    fc.property(campaign, ([runs, count, backwards]) => {
      const results = runs.map((one, index) => ({ ...one, seed: index + 1 }));
      const parts = Array.from({ length: count }, (_, index) =>
        tallyOf(results.filter(({ seed }) => seed % count === index)),
      );
      const merged = emptyTally();
      for (const part of backwards ? parts.toReversed() : parts)
        addTally(merged, JSON.parse(JSON.stringify(part)) as Tally);
      const [whole, sum] = [tallyOf(results), merged].map((tally) => summaryOf('calm', tally, undefined));
      expect(JSON.parse(JSON.stringify(sum))).toEqual(JSON.parse(JSON.stringify(whole)));
      expect(merged.firstFailure?.seed).toBe(results.find(({ verdict }) => verdict === 'failed')?.seed);
    }),
  );
});

it('names the smallest seeds, at most twenty, and counts all', () => {
  const failed = resultOf({ verdict: 'failed', reports: [brokenReport(5, 'lost')] });
  const seeds = Array.from({ length: 50 }, (_, index) => 50 - index);
  const summary = summaryOf('calm', tallyOf(seeds.map((seed) => ({ ...failed, seed }))), undefined);
  expect(summary.failedSeeds).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  expect(summary.clusters).toMatchObject([{ count: 50, seeds: summary.failedSeeds }]);
  expect(summary.broken.durability).toEqual(summary.failedSeeds);
});
