/** The form of an explanation, and how plans are run for one. */
import type { BusyTimes } from '../plan/busy.ts';
import type { Plan } from '../plan/plan.ts';
import type { CheckReport } from '../check/report.ts';
import type { Recording } from './recording.ts';

/** Most runs of one explanation, those for shrinking not counted. */
export const explainRunsMax = 160;

/** Why a plan fails. */
export interface Explanation {
  /** Ids of the faults and operations without any one of which the plan passes. */
  readonly decisive: readonly string[];
  /** The explanation in words: `lines` in one. */
  readonly sentence: string;
  /** What broke and what the nodes did before it; what the failure needs; at which moment it turns. */
  readonly lines: readonly string[];
  readonly runs: number;
}

/** How plans are run. */
export interface ExplainRuns {
  /** Runs a plan, and records it. */
  readonly record: (plan: Plan) => Promise<Recording>;
  /** Runs a plan; undefined if this invariant did not break. */
  readonly judge: (plan: Plan, invariant: string) => Promise<Broken | undefined>;
}

/** What a run broke. */
export interface Broken {
  readonly report: CheckReport;
  readonly busy?: BusyTimes;
}

/** A plan of more faults and operations is shrunk before each is left out once. */
export const triedSinglyMax = 12;

/** The explanation of these lines. */
export function explained(decisive: readonly string[], lines: readonly string[], runs: number): Explanation {
  return { decisive, sentence: lines.join(' '), lines, runs };
}
