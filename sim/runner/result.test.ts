import { describe, expect, it } from 'vitest';

import { campaignOf } from './campaign.ts';
import { brokenInvariant } from './broken.ts';
import { summarizeAll } from './result.ts';
import { summarize } from './tally.ts';
import { brokenReport, reportOf, resultOf } from './result-fixture.ts';

const failed = resultOf({
  seed: 3,
  verdict: 'failed',
  reports: [brokenReport(9, 'lost'), reportOf({ invariant: 'durable-before-ack' })],
});

describe('results', () => {
  it('the invariant that broke first is the one with the earliest bad event', () => {
    const reports = [
      brokenReport(30, 'late'),
      reportOf(),
      brokenReport(20, 'early', { invariant: 'durable-before-ack' }),
    ];
    expect(brokenInvariant(resultOf({ reports }))?.invariant).toBe('durable-before-ack');
    expect(brokenInvariant(resultOf())).toBeUndefined();
  });

  it('a vacuous check comes after any that broke at an instant', () => {
    const vacuous = reportOf({ ok: false, vacuous: true, invariant: 'durable-before-ack' });
    expect(brokenInvariant(resultOf({ reports: [vacuous, brokenReport(9, 'lost')] }))?.invariant).toBe(
      'durability',
    );
  });

  it('add up over seeds', () => {
    const summary = summarize(
      'calm',
      [resultOf(), failed, resultOf({ seed: 4, verdict: 'unknown' })],
      undefined,
    );
    expect(summary).toMatchObject({
      seeds: 3,
      passed: 1,
      failed: 1,
      unknown: 1,
      events: 15_000,
      operations: 300,
      virtualMs: 10_500,
      checks: { durability: { checked: 300, skipped: 6 }, 'durable-before-ack': { checked: 100 } },
      struck: { 'process-crash': 6 },
      failedSeeds: [3],
      broken: { durability: [3] },
    });
  });

  it('too many unknown verdicts are no pass, a few are', () => {
    const passed = Array.from({ length: 99 }, () => resultOf());
    const unsure = resultOf({ verdict: 'unknown' });
    expect(summarizeAll([summarize('calm', [...passed, unsure], undefined)])).toMatchObject({ passed: true });
    const tooMany = [...passed.slice(0, 10), unsure];
    expect(summarizeAll([summarize('calm', tooMany, undefined)])).toMatchObject({
      passed: false,
      unknownBeyondCap: true,
    });
  });

  it('are one line of JSON, with the failure and how to replay it', () => {
    const failure = { result: failed, shrunk: undefined, replay: ['replay', 'calm', '--seed', '3'] };
    const making = { command: ['run'], startedAt: '2026-01-02T03:04:05.000Z', wallMs: 5 };
    const summary = summarizeAll([summarize('calm', [failed], failure)]);
    expect(JSON.parse(JSON.stringify(campaignOf(summary, making)))).toMatchObject({
      passed: false,
      scenarios: [
        {
          failed_seeds: [3],
          broken: { durability: [3] },
          failure: {
            seed: 3,
            invariant: 'durability',
            reason: 'lost',
            replay: 'lockstep-sim replay calm --seed 3',
          },
        },
      ],
    });
  });
});
