/** What one run comes to, before it is judged: the world's own account of it, and what the checks said. */
import type { IncarnationAccount } from '../check/reconcile/account.ts';
import type { CheckReport } from '../check/report.ts';
import type { History } from '../evidence/history.ts';
import type { JobRecord } from '../evidence/jobs.ts';
import type { RedisRecord } from '../evidence/redis.ts';
import type { TransactionHistory } from '../evidence/transactions.ts';
import type { FaultKind } from '../faults/kinds/fault-kinds.ts';
import type { Plan } from '../plan/plan.ts';
import type { MissedFault, OutcomeCounts } from './result.ts';

export interface RunOutcome {
  /** Of the invariants that the plan asks for, except `determinism`, which takes two runs. */
  readonly reports: readonly CheckReport[];
  readonly digest: string;
  readonly events: number;
  /** Of them, those that ran code of a node. */
  readonly nodeEvents: number;
  readonly virtualUs: number;
  readonly outcomes: OutcomeCounts;
  readonly history: History;
  readonly transactions: TransactionHistory;
  readonly redis: readonly RedisRecord[];
  readonly jobs: readonly JobRecord[];
  /**
   * What the nodes counted, beside what the world knows; empty when the plan asks for neither `metrics-reconcile` nor
   * `valid-exposition`.
   */
  readonly accounts: readonly IncarnationAccount[];
  /** Comparisons below which this run proves nothing: what the plan says, and what the run's length asks for. */
  readonly floors: Plan['floors'];
  readonly struck: Readonly<Partial<Record<FaultKind, number>>>;
  readonly missed: readonly MissedFault[];
  /** Why the run was broken off; empty when it came to its end. */
  readonly unfinished: string;
  /** Readable lines, when asked for. */
  readonly trace: readonly string[];
}

export interface RunSettings {
  readonly trace?: boolean;
  /** Keeps no books and judges nothing: there are no reports. The run and its digest are the same. Default: false. */
  readonly unobserved?: boolean;
}
