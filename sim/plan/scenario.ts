/**
 * A scenario is data: a cluster, a load, the faults that may strike, and what must hold. A seed turns it into a plan
 * (plan-generation.ts), the run into a verdict.
 */
import type { ConsistencyLevel } from '../../engine/replication/requests.ts';
import type { InvariantName } from '../check/invariants.ts';
import type { FaultKind } from '../faults/kinds/fault-kinds.ts';
import type { NeedWord, PlanNode, PlanStructures, PlanTransaction } from '../plan/plan.ts';
import type { JobKind } from '../evidence/jobs.ts';
import type { RedisKind } from '../evidence/redis.ts';

/** A whole number drawn from `[least, most]`, both included. */
export type Range = readonly [least: number, most: number];

export interface ClusterShape {
  readonly datacenters: number;
  /** Per datacenter; every rack holds one copy of every key. */
  readonly racks: number;
  readonly nodesPerRack: number;
  /** Nodes that `membership-change` brings in. */
  readonly spares?: readonly Omit<PlanNode, 'spare'>[];
}

/** How often each is drawn, relative to the others. */
export type Weights<Word extends string> = Readonly<Partial<Record<Word, number>>>;

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
  /** Of a hundred operations, so many give a number of copies (`r`, `w`, `rw`, `pr`, `pw`, `dw`), `copiesMax` at most; left out: none. */
  readonly numbered?: { readonly percent: number; readonly copiesMax: number };
  /** Bursts of garbage to the listeners. */
  readonly garbage: Range;
  /** Looks at `/stats` and `/metrics`. */
  readonly scrapes: Range;
  /** Left out: none. */
  readonly transactions?: TransactionLoad;
}

/** Transactions, by clients of their own. */
export interface TransactionLoad {
  readonly clients: number;
  readonly count: Range;
  /** Wait between two transactions of one client, in microseconds. */
  readonly thinkUs: Range;
  readonly kinds: Weights<PlanTransaction['kind']>;
  readonly structures: PlanStructures;
  /** Lists and accounts that one transaction touches at most. */
  readonly placesMax: number;
  /** Of a hundred transactions, so many are told to abort; have a name of the client's; want the level DC_ONE. */
  readonly forcedPercent: number;
  readonly namedPercent: number;
  readonly onePercent: number;
}

/** MapReduce jobs over the keys of the load, by clients of their own. */
export interface JobLoad {
  readonly clients: number;
  readonly count: Range;
  readonly thinkUs: Range;
  readonly kinds: Weights<JobKind>;
  /** Keys that one job names at most. */
  readonly keysMax: number;
}

/** What a scenario wants of Redis clients. */
export interface RedisLoad {
  readonly clients: number;
  readonly operations: Range;
  readonly counters: number;
  /** At least two. */
  readonly accounts: number;
  /** Keys of values that expire, and how long they live in milliseconds. */
  readonly mortals: number;
  readonly lifeMs: Range;
  readonly thinkUs: Range;
  readonly kinds: Weights<RedisKind>;
}

/** Faults of one kind that a seed may draw. */
export interface FaultDraw {
  readonly kind: FaultKind;
  readonly count: Range;
  /** How long each lasts, in microseconds; left out for kinds that are over at once. */
  readonly forUs?: Range;
  /** Narrower ranges than the kind's own. */
  readonly params?: Readonly<Record<string, Range>>;
  /** The words that a parameter may take, where not all of the kind's own. */
  readonly words?: Readonly<Record<string, readonly string[]>>;
  /** The nodes that it may strike; all members when left out. */
  readonly targets?: readonly string[];
  /** When it may strike; any time of the storm when left out. */
  readonly atUs?: Range;
  /** The named side is all of a rack, or of a datacenter (spares apart). */
  readonly group?: 'rack' | 'datacenter';
  /** Largest number of nodes on the named side of a partition; every size when left out. */
  readonly sideMax?: number;
  /**
   * Strike just after the nth event of a name at the target, or at `host`, in half of the draws; at a random instant
   * otherwise.
   */
  readonly after?: {
    readonly event: string;
    readonly host?: string;
    readonly nth: Range;
    readonly delayUs: Range;
  };
  /** Never switched off by the swarm: what the scenario is named after. */
  readonly always?: boolean;
}

export interface Scenario {
  /** The story's name, as the file's: `crash-and-restart`. */
  readonly name: string;
  /** One sentence: what happens and what must hold. */
  readonly story: string;
  readonly cluster: ClusterShape;
  readonly load: LoadShape;
  /** What Redis clients do beside the others; left out: there are none. */
  readonly redis?: RedisLoad;
  /** Left out: there are none. */
  readonly jobs?: JobLoad;
  readonly faults: readonly FaultDraw[];
  /** Load and faults. Faults begin within it; what lasts longer is healed at its end. */
  readonly stormMs: number;
  /** Everything healed and restarted, and left alone. */
  readonly calmMs: number;
  /** Longest virtual time that the final reads may take. */
  readonly settleMsMax: number;
  /**
   * `sweeps`: `convergence` is to hold before anybody reads after the calm, by hints and anti-entropy alone; else
   * after the reads.
   */
  readonly mendedBy?: 'sweeps';
  /** Consistency levels of all nodes, drawn by seed; left out: the settings'. */
  readonly levels?: { readonly read: Weights<ConsistencyLevel>; readonly write: Weights<ConsistencyLevel> };
  /** Engine settings that differ from the defaults, by dotted name. */
  readonly settings?: Readonly<Record<string, number | string | boolean>>;
  /** What must hold, each with the comparisons below which a run proves nothing. */
  readonly invariants: Readonly<Partial<Record<InvariantName, number>>>;
}
