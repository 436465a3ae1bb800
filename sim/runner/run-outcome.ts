/** The outcome of one run before the verdict: the world's record of it, and the reports of the checks. */
import type { IncarnationAccount } from '../check/metrics/reconcile/account.ts';
import type { CheckReport } from '../check/report.ts';
import type { BackupRecord } from '../evidence/backups.ts';
import type { BucketEvidence } from '../evidence/bucket-changes.ts';
import type { History } from '../evidence/history.ts';
import type { JobRecord, ListingRecord } from '../evidence/jobs.ts';
import type { RedisRecord } from '../evidence/redis.ts';
import type { TransactionHistory } from '../evidence/transactions.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import type { Plan } from '../plan/plan.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';
import type { MissedFault, OutcomeCounts } from './result.ts';

/** The outcome of one run. */
export interface RunOutcome {
  /** Reports of the invariants that the plan asks for, except `determinism`, which needs two runs. */
  readonly reports: readonly CheckReport[];
  readonly digest: string;
  readonly events: number;
  /** Number of those events that ran code of a node. */
  readonly nodeEvents: number;
  readonly virtualUs: number;
  readonly outcomes: OutcomeCounts;
  readonly history: History;
  readonly transactions: TransactionHistory;
  readonly redis: readonly RedisRecord[];
  readonly jobs: readonly JobRecord[];
  readonly listings: readonly ListingRecord[];
  /** What the operator changed of buckets, and what nodes stated of them. */
  readonly bucketChanges: BucketEvidence;
  /** The backups that an operator took, with what they hold. */
  readonly backups: readonly BackupRecord[];
  /**
   * The nodes' metrics beside the expected values; empty if the plan asks for neither `metrics-reconcile` nor
   * `valid-exposition`.
   */
  readonly accounts: readonly IncarnationAccount[];
  /** The floors of this run: those of the plan, raised according to the run's length. */
  readonly floors: Plan['floors'];
  readonly struck: Readonly<Partial<Record<FaultKind, number>>>;
  readonly missed: readonly MissedFault[];
  /** Why the run was aborted; empty if it completed. */
  readonly unfinished: string;
  /** The ids of the cells of coverage that it reached (sim/coverage), sorted; none with `unobserved` or `uncovered`. */
  readonly reached: readonly string[];
  /** The trace as text lines, if it was requested. */
  readonly trace: readonly string[];
}

/** Options of one run. */
export interface RunSettings {
  readonly trace?: boolean;
  /** Runs without observers and checks: there are no reports. The run and its digest are the same. Default: false. */
  readonly unobserved?: boolean;
  /** Runs without following coverage. Default: false. */
  readonly uncovered?: boolean;
  /** Called before the run begins, to look at the world while it happens. It must change nothing. */
  readonly attach?: (world: World, cluster: Cluster) => void;
}
