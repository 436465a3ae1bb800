/** Results for the tests of what sums them up and renders them. */
import type { CheckReport } from '../check/report.ts';
import type { RunResult } from './result.ts';

export function reportOf(over: Partial<CheckReport> = {}): CheckReport {
  return {
    invariant: 'durability',
    ok: true,
    checked: 100,
    skipped: 2,
    firstBad: undefined,
    reasons: [],
    vacuous: false,
    ...over,
  };
}

export function brokenReport(atUs: number, text: string, over: Partial<CheckReport> = {}): CheckReport {
  return reportOf({ ok: false, firstBad: { atUs, text }, reasons: [text], ...over });
}

export function resultOf(over: Partial<RunResult> = {}): RunResult {
  return {
    scenario: 'calm',
    seed: 1,
    verdict: 'passed',
    reports: [reportOf()],
    digest: 'ab'.repeat(32),
    events: 5000,
    nodeEvents: 4000,
    outcomes: { ok: 90, fail: 6, unknown: 4 },
    virtualUs: 3_500_000,
    wallMs: 50,
    missed: [],
    struck: { 'process-crash': 2 },
    because: '',
    ...over,
  };
}
