import { describe, expect, it } from 'vitest';

import type { SurveyedRun } from './reach.ts';
import { isExecuted, seedsReaching } from './reach.ts';

describe('a place is executed', () => {
  const script = {
    url: 'file:///a.js',
    functions: [
      { ranges: [{ startOffset: 0, endOffset: 100, count: 1 }] },
      {
        ranges: [
          { startOffset: 10, endOffset: 60, count: 3 },
          { startOffset: 20, endOffset: 30, count: 0 },
        ],
      },
      { ranges: [{ startOffset: 40, endOffset: 50, count: 0 }] },
    ],
  };

  it.each([
    ['in the text around functions', 5, true],
    ['in a function that ran', 10, true],
    ['not in a block that did not run', 20, false],
    ['after that block', 30, true],
    ['not in a function within it that did not run', 45, false],
    ['not behind the end', 100, false],
  ])('%s', (_, offset, executed) => {
    expect(isExecuted(script, offset)).toBe(executed);
  });
});

describe('the seeds that try a mutant', () => {
  const run = (
    scenario: string,
    seed: number,
    cpuSeconds: number,
    reached: readonly string[],
  ): SurveyedRun => {
    return { scenario, seed, passed: true, digest: '', cpuSeconds, reached };
  };
  const survey = [
    run('bit-rot', 1, 3, ['a']),
    run('bit-rot', 2, 1, ['a']),
    run('calm', 1, 1, []),
    run('swarm', 1, 2, ['a']),
    run('swarm', 2, 1, ['b']),
    { ...run('slow', 1, 1, ['a']), passed: false },
  ];

  it('execute its place, cheap ones first, leaning scenarios and others in turn, then go on without end', () => {
    const first: string[] = [];
    for (const { scenario, seed } of seedsReaching('a', survey, ['bit-rot'])) {
      first.push(`${scenario}/${seed}`);
      if (first.length === 6) break;
    }
    expect(first).toEqual([
      ...['bit-rot/2', 'swarm/1', 'bit-rot/1'],
      ...['bit-rot/3', 'swarm/3', 'bit-rot/4'],
    ]);
  });

  it('are none for a place that no run executes', () => {
    expect([...seedsReaching('c', survey, ['bit-rot'])]).toEqual([]);
  });
});
