/**
 * A plan is one run with every choice made: plain JSON, printable, and enough to replay the run without the scenario or
 * the generator that it came from. The world draws what the plan leaves out (the latency of a packet, the moment of a
 * timer) from streams named after `seed`. Adding or removing a fault or an operation therefore changes as little else
 * as possible.
 *
 * Times are microseconds of virtual time from the beginning of the storm.
 */
import type { Floors } from '../check/invariants.ts';
import type { bucketChangeKinds } from '../evidence/bucket-changes.ts';
import type { JobKind } from '../evidence/jobs.ts';
import type { RedisKind } from '../evidence/redis.ts';
import type { Fault } from '../faults/fault.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import type { PlanNode } from './plan-node.ts';
import type { PlanStructures, PlanTransaction } from './plan-transactions.ts';

/** Version of this format; a plan of another version is refused. */
export const planFormat = 1;

/** How many copies an operation waits for; `level`: as many as the node's consistency level names. */
export const needNames = ['one', 'quorum', 'all', 'level'] as const;
/** One of these words. */
export type NeedWord = (typeof needNames)[number];

/**
 * A number of copies instead of `need` (`r`, `w`, for a deletion `rw`), or in addition to it: as primaries (`pr`, `pw`)
 * or as durable copies (`dw`; for a read, and for a put of every second key, `node_confirms`).
 */
export const quorumForms = ['number', 'primaries', 'durable'] as const;

/** A number of copies that an operation demands, and what it counts. */
export interface PlanQuorum {
  readonly as: (typeof quorumForms)[number];
  readonly count: number;
}

/** Conditions of a put: the key holds nothing, or what this client's last read of it returned. */
export const conditionNames = ['absent', 'unchanged', 'differs'] as const;

/** How many replicas must lack a key before the node answers that it is absent: with `basic_quorum`, a majority. */
export const absenceNames = ['confirmed', 'confirmed-by-majority'] as const;

/** The kinds of single-key operations. */
export const operationKinds = ['get', 'put', 'delete'] as const;

/** One operation on one key. */
export interface PlanOperation {
  /** Keeps its value through shrinking: `o17`. */
  readonly id: string;
  /** The client's number. Clients work concurrently, each one operation at a time, in the plan's order. */
  readonly client: number;
  /** Wait since the client's previous operation ended. */
  readonly thinkUs: number;
  readonly kind: (typeof operationKinds)[number];
  /** Number of the key: `k<key>` of its bucket. */
  readonly key: number;
  /** Length of a put's value in bytes, tag and padding together. */
  readonly valueBytes: number;
  readonly need: NeedWord;
  /** Absent: the operation demands no number. */
  readonly quorum?: PlanQuorum;
  /** `last`: carries the context of this client's last read of the key, if there was one. */
  readonly context: 'none' | 'last';
  /** Over HTTP; absent: over the binary protocol. */
  readonly over?: 'http';
  /**
   * Absent: the write is unconditional. `differs`: the key does not hold a value that the client last read, which only
   * HTTP can state; elsewhere it counts as `unchanged`. Without an earlier read, `unchanged` is no condition. Deletions
   * state conditions over HTTP alone, and only `unchanged`.
   */
  readonly condition?: (typeof conditionNames)[number];
  /** The read has `notfound_ok=false`. Absent: the first answers decide. */
  readonly absence?: (typeof absenceNames)[number];
  /** The read asks for the object only if it differs from what this client read last. Absent: in any case. */
  readonly ifChanged?: true;
}

/** One operation of a Redis client. The clients `r0`, `r1`, … are others than those of `PlanOperation`. */
export interface PlanRedisOperation {
  /** Keeps its value through shrinking: `q17`. */
  readonly id: string;
  readonly client: number;
  readonly thinkUs: number;
  readonly kind: RedisKind;
  /** Number of the counter, of the value that expires, or of the account that pays. */
  readonly key: number;
  /** The account that is paid. */
  readonly other: number;
  /** The amount to pay, the time to live of a value that expires, in milliseconds, or the seed of a pipeline, a publisher or a listener. */
  readonly amount: number;
}

/** One MapReduce job of a client `j0`, `j1`, …. */
export interface PlanJob {
  /** Keeps its value through shrinking: `j17`. */
  readonly id: string;
  readonly client: number;
  readonly thinkUs: number;
  readonly kind: JobKind;
  /** Numbers of the input keys, distinct; for `whole`, the first key determines the bucket. */
  readonly keys: readonly number[];
}

/** When a fault strikes: at an instant, or `delayUs` after the nth event of a name at a host. */
export type Moment =
  | { readonly atUs: number }
  | { readonly event: string; readonly host: string; readonly nth: number; readonly delayUs: number };

/** One fault, and when it strikes. */
export interface PlanFault extends Fault {
  readonly kind: FaultKind;
  readonly when: Moment;
}

/** The forms of malformed input. */
export const malformedInputForms = [
  'random',
  'oversized',
  'truncated',
  'unknown-code',
  'corrupt-body',
] as const;
/** One form of malformed input. */
export type MalformedInputForm = (typeof malformedInputForms)[number];

/** The listeners that malformed input is sent to. */
export const malformedInputListeners = ['pb', 'peer'] as const;

/** One burst of bytes that no client would send, to one listener of one node. */
export interface PlanMalformedInput {
  readonly id: string;
  readonly atUs: number;
  readonly node: string;
  readonly listener: (typeof malformedInputListeners)[number];
  readonly form: MalformedInputForm;
  readonly bytes: number;
}

/** One scrape of a node's `/stats` and `/metrics`. */
export interface PlanScrape {
  readonly id: string;
  readonly atUs: number;
  readonly node: string;
}

/** One change of a bucket's properties by an operator. */
export interface PlanBucketChange {
  /** Keeps its value through shrinking: `b3`. */
  readonly id: string;
  readonly atUs: number;
  readonly node: string;
  readonly kind: (typeof bucketChangeKinds)[number];
  /** Number of the bucket. */
  readonly bucket: number;
  /** What is set is made of it; no other change has it. */
  readonly mark: number;
}

/** One backup of the running cluster by an operator. */
export interface PlanBackup {
  /** Keeps its value through shrinking: `k0`. */
  readonly id: string;
  readonly atUs: number;
}

/** One run with every choice made. `plan-validation.ts` holds the limits of each field. */
export interface Plan {
  readonly format: typeof planFormat;
  readonly scenario: string;
  /** Root of the names of the world's random streams. */
  readonly seed: number;
  readonly nodes: readonly PlanNode[];
  readonly clients: number;
  /** Keys are 0..keys-1; those below `siblingKeys` live in the bucket that keeps siblings. */
  readonly keys: number;
  readonly siblingKeys: number;
  readonly stormUs: number;
  readonly calmUs: number;
  readonly settleUsMax: number;
  /**
   * `sweeps`: `convergence` must hold before any client reads after the calm, by hints and anti-entropy alone. Absent:
   * it must hold after the final reads.
   */
  readonly repairedBy?: 'sweeps';
  /** Engine settings that differ from the defaults, by dotted name. */
  readonly settings: Readonly<Record<string, number | string | boolean>>;
  readonly operations: readonly PlanOperation[];
  /** How many clients run transactions; 0 for a plan without transactions. */
  readonly transactionClients: number;
  readonly structures: PlanStructures;
  readonly transactions: readonly PlanTransaction[];
  /** Absent: none. */
  readonly redisOperations?: readonly PlanRedisOperation[];
  /** Absent: none. */
  readonly jobs?: readonly PlanJob[];
  readonly faults: readonly PlanFault[];
  readonly malformedInput: readonly PlanMalformedInput[];
  readonly scrapes: readonly PlanScrape[];
  /** Absent: none. */
  readonly bucketChanges?: readonly PlanBucketChange[];
  /** Absent: none. */
  readonly backups?: readonly PlanBackup[];
  /** The invariants to check, each with its floor: fewer comparisons prove nothing. */
  readonly floors: Floors;
  /**
   * Hosts whose messages take the same time each (the usual one) where no fault delays them, instead of drawn times: the
   * order of their messages is no part of the story. Shrinking adds them. Absent: none.
   */
  readonly steadyHosts?: readonly string[];
  /**
   * Hosts whose packets take the usual time from that packet on, counted from 0: two plans that differ by one packet
   * differ by the time that this packet takes (explain.ts). Absent: none.
   */
  readonly steadyFrom?: readonly SteadyFrom[];
  /**
   * How long packets of hosts take, instead of drawn times: an order of delivery that no latency alone would bring about
   * (sim/guide/order.ts). Absent: none.
   */
  readonly paces?: readonly PlanPace[];
  /** The user's own invariants that judged the run when the plan was written. Absent: only built-in invariants did. */
  readonly judgedBy?: PlanJudges;
  /** The run as it was when the plan was written: a replay reports where it differs. Absent: no run is recorded. */
  readonly recorded?: RecordedRun;
}

/** A host whose packets take the usual time from one on. */
export interface SteadyFrom {
  readonly host: string;
  readonly packet: number;
}

/** From that packet on (counted from 0), every packet of the host takes this time; 0: drawn times again. */
export interface PlanPace {
  readonly host: string;
  readonly packet: number;
  readonly delayUs: number;
}

/** A run as it was when its plan was written. */
export interface RecordedRun {
  /** Version of Lockstep that ran it. */
  readonly version: string;
  /** Number of events of its trace. */
  readonly events: number;
  /** One character for every `every` events: the state of a hash over the trace up to there (run-marks.ts). */
  readonly every: number;
  readonly marks: string;
  /** The invariant that broke. */
  readonly broke: string;
}

/** A user's own invariants. A plan cannot contain them, and a replay without them proves nothing about them. */
export interface PlanJudges {
  /** The module that exports them, as `--scenarios` named it. Absent: a test passed them to the library. */
  readonly file?: string;
  /** Their names, at least one. */
  readonly invariants: readonly string[];
}

/** The plan as a file: one line per operation and fault, so that two plans can be compared line by line. */
export function formatPlan(plan: Plan): string {
  const lines = Object.entries(plan).map(([name, value]) => {
    const text = Array.isArray(value) && value.length > 0 ? formatItems(value) : JSON.stringify(value);
    return `  ${JSON.stringify(name)}: ${text}`;
  });
  return `{\n${lines.join(',\n')}\n}\n`;
}

function formatItems(items: readonly unknown[]): string {
  return `[\n${items.map((item) => `    ${JSON.stringify(item)}`).join(',\n')}\n  ]`;
}

/** The plan without the record of its run: that of a changed plan is another. */
export function withoutRecord({ recorded: _, ...plan }: Plan): Plan {
  return plan;
}

/** Whether all replicas have become equal before the reads after the calm. */
export function isRepairedFirst({ repairedBy, floors }: Pick<Plan, 'repairedBy' | 'floors'>): boolean {
  return repairedBy === 'sweeps' && floors.convergence !== undefined;
}

/** The buckets of the single-key load. */
export const objectBuckets: readonly string[] = ['siblings', 'newest'];

/** The bucket of database 0 of Redis. */
export const redisBucket = 'redis';

/** The bucket and key of a key's number, and whether the bucket keeps siblings. */
export function keyOf(
  plan: Plan,
  key: number,
): { readonly bucket: string; readonly key: string; readonly siblings: boolean } {
  const siblings = key < plan.siblingKeys;
  return { bucket: siblings ? 'siblings' : 'newest', key: `k${key}`, siblings };
}
