/**
 * A plan is one run with every choice made: plain JSON, printable, and enough to replay the run without the scenario or
 * the generator that it came from. What is not in it (the latency of a packet, the moment of a timer) is drawn by the
 * world from streams named after `seed`, so that adding or removing a fault or an operation moves as little as it can.
 *
 * Times are microseconds of virtual time from the beginning of the storm.
 */
import type { InvariantName } from '../check/invariants.ts';
import type { JobKind } from '../evidence/jobs.ts';
import type { RedisKind } from '../evidence/redis.ts';
import type { FaultKind } from '../faults/kinds/fault-kinds.ts';

/** Version of this format; a plan of another one is refused. */
export const planFormat = 1;

export interface PlanNode {
  readonly name: string;
  readonly datacenter: string;
  readonly rack: string;
  /** It is no member from the start: `membership-change` brings it in. */
  readonly spare?: true;
  /** The member whose place it takes when it comes in; that one dies for good. */
  readonly replaces?: string;
}

/** Copies that an operation waits for; `level`: as many as the node's consistency level names. */
export const needNames = ['one', 'quorum', 'all', 'level'] as const;
export type NeedWord = (typeof needNames)[number];

/**
 * Copies by number: in `need`'s place (`r`, `w`, of a deletion `rw`), or on top of it, as primaries (`pr`, `pw`) or as durable
 * ones (`dw`; of a read `node_confirms`).
 */
export const quorumForms = ['number', 'primaries', 'durable'] as const;

export interface PlanQuorum {
  readonly as: (typeof quorumForms)[number];
  readonly count: number;
}

export const operationKinds = ['get', 'put', 'delete'] as const;

export interface PlanOperation {
  /** Stable through shrinking: `o17`. */
  readonly id: string;
  /** Which client; clients act at once, each one operation at a time, in the plan's order. */
  readonly client: number;
  /** Wait since the client's previous operation ended. */
  readonly thinkUs: number;
  readonly kind: (typeof operationKinds)[number];
  /** Number of the key: `k<key>` of its bucket. */
  readonly key: number;
  /** Length of the value, tag and padding (puts). */
  readonly valueBytes: number;
  readonly need: NeedWord;
  /** Left out: nothing by number. */
  readonly quorum?: PlanQuorum;
  /** `last`: carries the causal context of this client's last read of the key, when there was one. */
  readonly context: 'none' | 'last';
}

/**
 * What a transaction does, with the structures that it does it to:
 *
 * - `transfer`: reads two accounts and moves an amount, on condition that neither has changed;
 * - `append`: reads some lists and appends its number to each, on condition that none has changed;
 * - `twin`: the same over both lists of a pair, which must be equal for ever;
 * - `stamp`, `erase`: writes one value to the three keys of a triple, or deletes them, whatever they hold;
 * - `restamp`: reads the three keys of a triple and writes one value to them, on condition that none has changed;
 * - `put`: writes a value to one key (each triple has such a one beside it), whatever it holds, through its primary;
 * - `move`: deletes one of these single keys and writes a value to another, whatever they hold;
 * - `bunch`: writes one value to three keys that have one primary (each triple has such ones beside it), whatever they hold;
 * - `look`: reads the keys of some lists one after the other; no transaction.
 */
export const transactionKinds = [
  'transfer',
  'append',
  'twin',
  'stamp',
  'erase',
  'restamp',
  'put',
  'move',
  'bunch',
  'look',
] as const;

export interface PlanTransaction {
  /** Stable through shrinking: `t17`. */
  readonly id: string;
  /** Which of the transactions' own clients (`x0`, `x1`, …); each does one at a time, in the plan's order. */
  readonly client: number;
  readonly thinkUs: number;
  readonly kind: (typeof transactionKinds)[number];
  /** Numbers of accounts or lists (distinct), of two single keys, or of one pair or triple. */
  readonly places: readonly number[];
  /** What is transferred; how many elements are appended (1 or 2) by `append`. */
  readonly amount: number;
  /** `force_abort`. */
  readonly forced: boolean;
  /** The client gives it an id of its own, and repeats it under that when the outcome stays out. */
  readonly named: boolean;
  readonly level: (typeof transactionLevels)[number];
}

export const transactionLevels = ['DC_ONE', 'DC_QUORUM'] as const;

/** How many there are of each structure that transactions work on. */
export interface PlanStructures {
  readonly accounts: number;
  readonly lists: number;
  readonly twins: number;
  readonly triples: number;
}

export const noStructures: PlanStructures = { accounts: 0, lists: 0, twins: 0, triples: 0 };

/** One operation of a Redis client; the clients `r0`, `r1`, … are others than those of `PlanOperation`. */
export interface PlanRedisOperation {
  /** Stable through shrinking: `q17`. */
  readonly id: string;
  readonly client: number;
  readonly thinkUs: number;
  readonly kind: RedisKind;
  /** Number of the counter, the mortal value, or the account that pays. */
  readonly key: number;
  /** The account that is paid. */
  readonly other: number;
  /** What is paid, or the milliseconds that a mortal value lives. */
  readonly amount: number;
}

/** One MapReduce job of a client `j0`, `j1`, … */
export interface PlanJob {
  /** Stable through shrinking: `j17`. */
  readonly id: string;
  readonly client: number;
  readonly thinkUs: number;
  readonly kind: JobKind;
  /** Numbers of the keys that are its inputs, distinct; of `whole` the first says which bucket. */
  readonly keys: readonly number[];
}

/** When a fault strikes: at an instant, or just after the nth event of a name at a host. */
export type Moment =
  | { readonly atUs: number }
  | { readonly event: string; readonly host: string; readonly nth: number; readonly delayUs: number };

export interface PlanFault {
  /** Stable through shrinking: `f3`. */
  readonly id: string;
  readonly kind: FaultKind;
  /** Hosts, as the kind's aim asks. */
  readonly targets: readonly string[];
  readonly when: Moment;
  readonly forUs: number;
  readonly params: Readonly<Record<string, number | string>>;
}

export const garbageForms = ['random', 'oversized', 'truncated', 'unknown-code', 'corrupt-body'] as const;
export type MalformedInputForm = (typeof garbageForms)[number];

export const garbageListeners = ['pb', 'peer'] as const;

/** Bytes that no client would send, to one listener of one node. */
export interface PlanMalformedInput {
  readonly id: string;
  readonly atUs: number;
  readonly node: string;
  readonly listener: (typeof garbageListeners)[number];
  readonly form: MalformedInputForm;
  readonly bytes: number;
}

/** One look at a node's `/stats` and `/metrics`. */
export interface PlanScrape {
  readonly id: string;
  readonly atUs: number;
  readonly node: string;
}

export interface Plan {
  readonly format: typeof planFormat;
  readonly scenario: string;
  /** Root of the names of the world's streams. */
  readonly seed: number;
  readonly nodes: readonly PlanNode[];
  readonly clients: number;
  /** Keys 0..keys-1; those below `siblingKeys` live in the bucket that keeps siblings. */
  readonly keys: number;
  readonly siblingKeys: number;
  readonly stormUs: number;
  readonly calmUs: number;
  readonly settleUsMax: number;
  /**
   * `sweeps`: `convergence` is to hold before anybody reads after the calm, by hints and anti-entropy alone; else
   * after the reads.
   */
  readonly mendedBy?: 'sweeps';
  /** Engine settings that differ from the defaults, by dotted name. */
  readonly settings: Readonly<Record<string, number | string | boolean>>;
  readonly operations: readonly PlanOperation[];
  /** Clients that run transactions; 0 for a plan without any. */
  readonly transactionClients: number;
  readonly structures: PlanStructures;
  readonly transactions: readonly PlanTransaction[];
  /** Left out: none. */
  readonly redisOperations?: readonly PlanRedisOperation[];
  /** Left out: none. */
  readonly jobs?: readonly PlanJob[];
  readonly faults: readonly PlanFault[];
  readonly garbage: readonly PlanMalformedInput[];
  readonly scrapes: readonly PlanScrape[];
  /** Invariants to check, each with the comparisons below which the run proves nothing. */
  readonly floors: Readonly<Partial<Record<InvariantName, number>>>;
  /** The user's own invariants that judged its run when the plan was written. Left out: the built-in ones alone did. */
  readonly judgedBy?: PlanJudges;
}

/** A user's own invariants, which a plan cannot contain: a replay without them proves nothing about them. */
export interface PlanJudges {
  /** The module that exports them, as `--scenarios` named it. Left out: a test passed them to the library. */
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

/** Which key an operation is about. */
export function keyOf(
  plan: Plan,
  key: number,
): { readonly bucket: string; readonly key: string; readonly siblings: boolean } {
  const siblings = key < plan.siblingKeys;
  return { bucket: siblings ? 'siblings' : 'newest', key: `k${key}`, siblings };
}
