/** Builds results for the tests of summaries and reports. */
import type { CheckReport } from '../check/report.ts';
import type { RunResult } from './result.ts';

/** A passing report of `durability`, with the given fields replaced. */
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

/** A failing report with one violation at `atUs`. */
export function brokenReport(atUs: number, text: string, over: Partial<CheckReport> = {}): CheckReport {
  return reportOf({ ok: false, firstBad: { atUs, text }, reasons: [text], ...over });
}

/** A passing result of `calm` with seed 1, with the given fields replaced. */
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
