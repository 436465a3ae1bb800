/** Judges one run: its reports against the plan's floors, the caller's invariants, and the verdict that follows. */
import type { CheckReport } from '../check/report.ts';
import { withFloor } from '../check/report.ts';
import type { Evidence, Invariant } from '../check/user-invariants.ts';
import { checkOwn, evidenceOf } from '../check/user-invariants.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunResult, Verdict } from './result.ts';
import type { RunOutcome } from './run-outcome.ts';

/** Judges one run by its reports and the caller's invariants. */
export function judgeOutcome(
  plan: Plan,
  outcome: RunOutcome,
  wallMs: number,
  invariants: readonly Invariant[] = [],
): RunResult {
  const asked = outcome.reports.map((report) => withFloor(report, floorOf(report, outcome.floors)));
  const reports = [...asked, ...checkOwn(invariants, evidenceIn(outcome), asksForFloors(plan))];
  return {
    scenario: plan.scenario,
    seed: plan.seed,
    verdict: verdictOf(outcome, reports),
    reports,
    digest: outcome.digest,
    events: outcome.events,
    nodeEvents: outcome.nodeEvents,
    outcomes: outcome.outcomes,
    virtualUs: outcome.virtualUs,
    wallMs,
    struck: outcome.struck,
    missed: outcome.missed,
    because: outcome.unfinished === '' && reports.length === 0 ? nothingJudged : outcome.unfinished,
  };
}

/** Why a run without a check has not passed. */
const nothingJudged = 'no invariant was judged: the floors of the plan name none that its run has to do with';

function floorOf({ invariant }: CheckReport, floors: Plan['floors']): number {
  return new Map<string, number>(Object.entries(floors)).get(invariant) ?? 0;
}

/** A shrunk plan asks for no floors. */
function asksForFloors({ floors }: Plan): boolean {
  return Object.values(floors).some((floor) => floor > 0);
}

function evidenceIn({ history, transactions, redis, jobs }: RunOutcome): Evidence {
  return evidenceOf({ operations: history, transactions, redis, jobs });
}

function verdictOf(outcome: RunOutcome, reports: RunResult['reports']): Verdict {
  if (reports.some((report) => !report.ok && !report.vacuous)) return 'failed';
  if (outcome.unfinished !== '' || reports.length === 0) return 'unknown';
  return reports.every((report) => report.ok) ? 'passed' : 'failed';
}
