/**
 * A scenario is data: a cluster, a load, the faults that may strike, and what must hold. A seed turns it into a plan
 * (`plan-generation.ts`), and the run turns the plan into a verdict.
 */
import type fc from 'fast-check';

import type { ConsistencyLevel } from '../../engine/replication/requests.ts';
import type { Floors } from '../check/invariants.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import type { NeedWord } from './plan.ts';
import type { PlanNode } from './plan-node.ts';
import type { PlanStructures, PlanTransaction } from './plan-transactions.ts';
import type { JobKind } from '../evidence/jobs.ts';
import type { RedisKind } from '../evidence/redis.ts';

/** A whole number drawn from `[least, most]`, both included. */
export type Range = readonly [least: number, most: number];

/** The shape of the cluster at the start. */
export interface ClusterShape {
  readonly datacenters: number;
  /** Racks of every datacenter, or of each one in turn; every rack holds one copy of every key. */
  readonly racks: number | readonly number[];
  readonly nodesPerRack: number;
  /** Nodes that `membership-change` makes join. */
  readonly spares?: readonly Omit<PlanNode, 'spare'>[];
}

/** How often each word is drawn, relative to the others. */
export type Weights<Word extends string> = Readonly<Partial<Record<Word, number>>>;

/** The single-key load and what runs beside it. */
export interface LoadShape {
  readonly clients: number;
  readonly operations: Range;
  readonly keys: number;
  /** How many of the keys live in the bucket that keeps siblings. */
  readonly siblingKeys: number;
  /** Wait between two operations of one client, in microseconds. */
  readonly thinkUs: Range;
  readonly valueBytes: Range;
  readonly kinds: Weights<'get' | 'put' | 'delete'>;
  readonly needs: Weights<NeedWord>;
  /**
   * The percentage of operations that demand a number of copies (`r`, `w`, `rw`, `pr`, `pw`, `dw`), and the largest
   * such number. Absent: none does.
   */
  readonly numbered?: { readonly percent: number; readonly copiesMax: number };
  /** The percentages of operations over HTTP, and of puts with a condition. Absent: none. */
  readonly manners?: { readonly httpPercent: number; readonly conditionalPercent: number };
  /**
   * The percentages of reads that want an absence confirmed (`notfound_ok=false`), and of reads that ask for the object
   * only if it has changed. Absent: none.
   */
  readonly readings?: { readonly confirmedPercent: number; readonly ifChangedPercent: number };
  /** How many bursts of malformed input the listeners get. */
  readonly malformedInput: Range;
  /** How many scrapes of `/stats` and `/metrics` there are. */
  readonly scrapes: Range;
  /** Absent: none. */
  readonly transactions?: TransactionLoad;
}

/** Transactions, run by clients of their own. */
export interface TransactionLoad {
  readonly clients: number;
  readonly count: Range;
  /** Wait between two transactions of one client, in microseconds. */
  readonly thinkUs: Range;
  readonly kinds: Weights<PlanTransaction['kind']>;
  readonly structures: PlanStructures;
  /** How many lists or accounts one transaction touches at most. */
  readonly placesMax: number;
  /**
   * Percentages of transactions that must abort (`force_abort`), that carry an idempotency key, that ask for DC_ONE, and
   * (none if absent) for DC_EACH_SAFE_QUORUM. The others ask for DC_QUORUM.
   */
  readonly forcedPercent: number;
  readonly namedPercent: number;
  readonly onePercent: number;
  readonly eachPercent?: number;
}

/** MapReduce jobs over the keys of the load, run by clients of their own. */
export interface JobLoad {
  readonly clients: number;
  readonly count: Range;
  readonly thinkUs: Range;
  readonly kinds: Weights<JobKind>;
  /** How many keys one job names at most. */
  readonly keysMax: number;
}

/** The load of the Redis clients. */
export interface RedisLoad {
  readonly clients: number;
  readonly operations: Range;
  readonly counters: number;
  /** At least two. */
  readonly accounts: number;
  /** How many keys hold values that expire, and their time to live in milliseconds. */
  readonly expiring: number;
  readonly ttlMs: Range;
  readonly thinkUs: Range;
  readonly kinds: Weights<RedisKind>;
}

/** Faults of one kind that a seed may draw. */
export interface FaultDraw {
  readonly kind: FaultKind;
  readonly count: Range;
  /** How long each lasts, in microseconds; absent for kinds that are over at once. */
  readonly forUs?: Range;
  /** Narrower ranges than the kind's own, by parameter. */
  readonly params?: Readonly<Record<string, Range>>;
  /** The values that a parameter may take, if not all of the kind's own. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
  /** The nodes that it may strike; absent: all members. */
  readonly targets?: readonly string[];
  /** When it may strike, in microseconds of the storm; absent: at any time. */
  readonly atUs?: Range;
  /** The named side is a whole rack or datacenter (without spares). */
  readonly group?: 'rack' | 'datacenter';
  /** Largest number of nodes on the named side of a partition; absent: every size. */
  readonly sideMax?: number;
  /**
   * In half of the draws the fault strikes after the nth event of a name at the target, or at `host`; otherwise at a
   * random instant.
   */
  readonly after?: {
    readonly event: string;
    readonly host?: string;
    readonly nth: Range;
    readonly delayUs: Range;
  };
  /** The swarm never switches it off: it is what the scenario is about. */
  readonly always?: boolean;
}

/** A scenario: everything from which a seed makes a plan. */
export interface Scenario {
  /** Its name, which is also that of its file: `crash-and-restart`. */
  readonly name: string;
  /** One sentence: what happens and what must hold. */
  readonly description: string;
  readonly cluster: ClusterShape;
  readonly load: LoadShape;
  /** The load of Redis clients; absent: there are none. */
  readonly redis?: RedisLoad;
  /** Absent: there are no jobs. */
  readonly jobs?: JobLoad;
  /** How many changes of buckets' properties an operator makes; absent: none. */
  readonly bucketChanges?: Range;
  /** How many changes of bucket types' properties an operator makes, the making of the types included; absent: none. */
  readonly typeChanges?: Range;
  /** How many backups of the cluster an operator takes; absent: none. */
  readonly backups?: Range;
  readonly faults: readonly FaultDraw[];
  /** Length of the storm. Faults begin within it; what lasts longer is healed at its end. */
  readonly stormMs: number;
  /** How long the healed and restarted cluster is left alone before the final reads. */
  readonly calmMs: number;
  /** Longest virtual time that the final reads may take. */
  readonly settleMsMax: number;
  /**
   * `sweeps`: `convergence` must hold before any client reads after the calm, by hints and anti-entropy alone. Absent:
   * it must hold after the final reads.
   */
  readonly repairedBy?: 'sweeps';
  /** Consistency levels of all nodes, drawn by the seed; absent: those of the settings. */
  readonly levels?: { readonly read: Weights<ConsistencyLevel>; readonly write: Weights<ConsistencyLevel> };
  /** Engine settings that differ from the defaults, by dotted name. */
  readonly settings?: Readonly<Record<string, number | string | boolean>>;
  /** The invariants that must hold, each with its floor: fewer comparisons prove nothing. */
  readonly invariants: Floors;
  /** Each seed draws a scenario of its own from these, and nothing else of this one counts. Absent: this one. */
  readonly drawn?: fc.Arbitrary<Scenario>;
}
