/**
 * What transactions' clients did and saw, as the checks read it: every transaction with what it read before, what it
 * wanted to write and what became of it, and every single read that belongs to them. Plain data.
 *
 * Every write carries a tag of its own, every append a number of its own, so a value names the transaction that wrote
 * it.
 */
import type { Outcome } from './history.ts';
import type { PlanTransaction } from '../plan/plan.ts';

/** What a key of the transactions holds. */
export interface TransactionValue {
  readonly tag: string;
  /** Of an account. */
  readonly balance: number | undefined;
  /** Of a list: the numbers appended, in order. */
  readonly list: readonly number[] | undefined;
}

/** A read of one key at its primary; for the reads after the calm, at a quorum. */
export interface SeenKey {
  /** `lists/l3`. */
  readonly key: string;
  /** Undefined: the key holds no value. */
  readonly value: TransactionValue | undefined;
}

export interface WrittenKey {
  readonly key: string;
  /** Undefined: a deletion. */
  readonly value: TransactionValue | undefined;
  /** At the moment of `ok`: replicas whose disk certainly keeps the tag; undefined when that is not promised yet. */
  durableCopies: number | undefined;
}

/** A repetition under the client's own name was called aborted, and nothing in the answer leaves a doubt. */
export interface Denial {
  readonly atUs: number;
  /** The name that the repetition got. */
  readonly xid: string;
  readonly reason: string;
}

export interface TransactionRecord {
  /** Place in the history; the order of invocation. Also the number that it appends, times 10, and that plus 1. */
  readonly id: number;
  /** `t17` of the plan; '' for what is done after the calm. */
  readonly planned: string;
  readonly client: string;
  /** A probe is no transaction of the plan's. */
  readonly kind: PlanTransaction['kind'] | 'probe';
  /** Told to abort. */
  readonly forced: boolean;
  /** Its reads held when it was carried out: they are preconditions of its writes (or it is a single read). */
  readonly validated: boolean;
  readonly reads: readonly SeenKey[];
  readonly writes: readonly WrittenKey[];
  /** Replicas that its level promises. */
  readonly need: number;
  /** Microseconds of virtual time. `invokedUs`: before its first read. */
  readonly invokedUs: number;
  readonly completedUs: number | undefined;
  /** `fail`: aborted for certain, or never sent. */
  readonly outcome: Outcome;
  readonly reason: string;
  /** The node that coordinated it last, and the names that it got, one per attempt that was answered. */
  readonly node: string;
  readonly xids: readonly string[];
  /** The client's own name of it; '' for none. */
  readonly clientId: string;
  /** What repetitions of it heard that were sent when the client had heard of its commit. */
  readonly denials: readonly Denial[];
  readonly final: boolean;
}

export type TransactionHistory = readonly TransactionRecord[];

/** The numbers that a transaction appends. */
export function elementsOf(id: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => id * 10 + index);
}

/** The transaction that appended the number. */
export function appenderOf(element: number): number {
  return Math.floor(element / 10);
}

/** `#12 x1 transfer bank/a0 bank/a3 at n2: ok in 3.1 ms`, for people. */
export function describeTransaction(record: TransactionRecord): string {
  const { id, client, kind, node, outcome, reason, completedUs, invokedUs, xids } = record;
  const keys = new Set([...record.reads, ...record.writes].map(({ key }) => key));
  const took = completedUs === undefined ? '' : ` in ${((completedUs - invokedUs) / 1000).toFixed(1)} ms`;
  const why = reason === '' ? '' : ` (${reason})`;
  const name = xids.length === 0 ? '' : ` ${xids.join(' ')}`;
  return `#${id} ${client} ${kind} ${[...keys].join(' ')} at ${node}${name}: ${outcome}${took}${why}`;
}
