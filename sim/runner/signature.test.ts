import { expect, it } from 'vitest';

import type { CheckReport } from '../check/report.ts';
import { brokenReport, resultOf } from './result-fixture.ts';
import type { RunResult } from './result.ts';
import { isSameBreach, signatureOf } from './signature.ts';
import { summarize } from './tally.ts';

const failed = (seed: number, text: string): ReturnType<typeof resultOf> =>
  resultOf({ seed, verdict: 'failed', reports: [brokenReport(5, text)] });

it('two failures of one cause have one signature, whatever their names and numbers', () => {
  const one = failed(1, '#3 c0 put newest/k8 «w:c0:1» at n3: ok in 0.8 ms: acknowledged with 1 of 3 copies');
  const other = failed(
    2,
    '#127 c4 put siblings/k12 «w:c4:17» at n1: ok in 12 ms: acknowledged with 2 of 3 copies',
  );
  expect(signatureOf(one)).toBe(signatureOf(other));
  const ids = [5, 6].map((seed) => failed(seed, `n${seed} votes commit in n2-ea0eab6e2f1${seed}-1`));
  expect(new Set(ids.map(signatureOf)).size).toBe(1);
});

it('failures of two kinds have two, and a run that passed has none', () => {
  const results = [
    failed(4, '#3 c0 put newest/k8 at n3: ok: lost'),
    failed(2, '#9 c1 put newest/k1 at n2: ok: lost'),
    failed(3, '#9 c1 get newest/k1 at n2: ok: saw what was never written'),
    resultOf({ seed: 9 }),
  ];
  expect(summarize('calm', results, undefined).clusters.map(({ count, seeds }) => [count, seeds])).toEqual([
    [2, [2, 4]],
    [1, [3]],
  ]);
});

it('a breach stays the same when another operation shows it, and is another when another thing breaks', () => {
  const same = (left: string, right: string): boolean =>
    isSameBreach(brokenReport(5, left), brokenReport(9, right));
  const put = '#6 c9 put newest/k36 «w:c9:3» at n2: ok in 1.8 ms';
  const nothing = `#34 c8 get newest/k36 at n3: ok in 1.2 ms saw nothing: an acknowledged write is lost: ${put}`;
  const other = `#9 c1 delete siblings/k2 at n1: ok in 12 ms`;
  expect(same(nothing, nothing.replace('nothing', '«w:c1:0»').replace(put, other))).toBe(true);
  expect(
    same(
      'n1 never carried out n2-3c361071f47f-1, decided',
      'n3 never carried out n1-00e80885df2b-2, decided',
    ),
  ).toBe(true);
  expect(same('n1 and n2 disagree about the ring', 'n3 has not started again')).toBe(false);
});

it('commands of Redis that saw or left another value, in another pipeline, have one signature', () => {
  const one = failed(
    1,
    '#q4.15 r1 get h1 at n1: ok saw 165000: #q4.10 r1 set-xx h1 at n1: ok left 175000 had replaced that of #q4.0 r1 set h1 at n1: ok left 165000',
  );
  const other = failed(
    2,
    '#q7.3 r0 get h12 at n3: ok saw nil: #q7.2 r0 getdel h12 at n3: ok saw 5 left nil had replaced that of #q2.1 r0 mset h12 at n2: ok left 5',
  );
  expect(signatureOf(one)).toBe(signatureOf(other));
});

it('a cluster joins the largest one whose signature all its failures have', () => {
  const lost = brokenReport(3, '#3 c0 put newest/k8 at n3: ok: lost');
  const cause = { ...brokenReport(4, 'n1 keeps what it must forget'), invariant: 'wasm-purity' as const };
  const failure = (seed: number, ...reports: readonly CheckReport[]) =>
    resultOf({ seed, verdict: 'failed', reports });
  const sizes = (results: readonly RunResult[]): unknown =>
    summarize('calm', results, undefined).clusters.map(({ count, seeds }) => [count, seeds]);
  const three = [failure(1, cause), failure(2, cause), failure(3, lost, cause)];
  expect(sizes(three)).toEqual([[3, [1, 2, 3]]]);
  expect(sizes(three.toReversed())).toEqual([[3, [1, 2, 3]]]);
  expect(sizes([...three, failure(4, lost)])).toEqual([
    [2, [1, 2]],
    [2, [3, 4]],
  ]);
});
