/**
 * The history of transactions, for the checks: for each transaction what its client read first, what it meant to write,
 * and its outcome; and every single read that the transaction clients made. Plain data.
 *
 * Every write carries a unique tag and every append a unique number, so a value names the transaction that wrote it.
 */
import type { Outcome } from './history.ts';
import type { PlanTransaction } from '../plan/plan-transactions.ts';

/** The value of a key that transactions use. */
export interface TransactionValue {
  readonly tag: string;
  /** The balance of an account; undefined for other keys. */
  readonly balance: number | undefined;
  /** The numbers appended to a list, in order; undefined for other keys. */
  readonly list: readonly number[] | undefined;
}

/** One key as a client read it: at the key's primary, or at a quorum for the reads after the calm. */
export interface SeenKey {
  /** Bucket and key, as `lists/l3`. */
  readonly key: string;
  /** Undefined if the key holds no value. */
  readonly value: TransactionValue | undefined;
}

/** One key that a transaction writes. */
export interface WrittenKey {
  readonly key: string;
  /** Undefined for a deletion. */
  readonly value: TransactionValue | undefined;
  /**
   * How many replicas' disks certainly keep the tag at the moment of `ok`, in the datacenter that lacks most of those
   * that the level names; undefined while the protocol does not promise that yet.
   */
  durableCopies: number | undefined;
  /** How many the level promises there; absent: as many as for all keys of the transaction (`need`). */
  owed?: number;
}

/** A retry under the client's idempotency key was answered "aborted", and the answer leaves no doubt. */
export interface Denial {
  readonly atUs: number;
  /** The transaction id of the retry. */
  readonly xid: string;
  readonly reason: string;
}

/** One transaction: its reads, its writes and its outcome as its client knows it. */
export interface TransactionRecord {
  /** Place in the history, in order of invocation. The transaction appends the numbers `id * 10` and `id * 10 + 1`. */
  readonly id: number;
  /** The operation's id in the plan (`t17`); empty for a transaction run after the calm. */
  readonly planned: string;
  readonly client: string;
  /** A `probe` is not an operation of the plan. */
  readonly kind: PlanTransaction['kind'] | 'probe';
  /** The client asked the coordinator to abort it. */
  readonly forced: boolean;
  /** Its reads still held when it committed, because they are preconditions of its writes; or it is a single read. */
  readonly validated: boolean;
  readonly reads: readonly SeenKey[];
  readonly writes: readonly WrittenKey[];
  /** How many replicas its consistency level promises. */
  readonly need: number;
  /** Microseconds of virtual time; `invokedUs` is before its first read. */
  readonly invokedUs: number;
  readonly completedUs: number | undefined;
  /** `fail`: it certainly aborted, or was never sent. */
  readonly outcome: Outcome;
  readonly reason: string;
  /** The node that coordinated the last attempt, and the transaction ids, one per attempt that was answered. */
  readonly node: string;
  readonly xids: readonly string[];
  /** The idempotency key that the client gave; empty for none. */
  readonly clientId: string;
  /** Denials answered to retries that the client sent after it had learned of the commit. */
  readonly denials: readonly Denial[];
  readonly final: boolean;
}

/** All transactions of a run, in order of invocation. */
export type TransactionHistory = readonly TransactionRecord[];

/** The numbers that transaction `id` appends, one for each of its `count` lists. */
export function elementsOf(id: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => id * 10 + index);
}

/** The id of the transaction that appended the number. */
export function appenderOf(element: number): number {
  return Math.floor(element / 10);
}

/** One line for people: `#12 x1 transfer bank/a0 bank/a3 at n2: ok in 3.1 ms`. */
export function describeTransaction(record: TransactionRecord): string {
  const { id, client, kind, node, outcome, reason, completedUs, invokedUs, xids } = record;
  const keys = new Set([...record.reads, ...record.writes].map(({ key }) => key));
  const took = completedUs === undefined ? '' : ` in ${((completedUs - invokedUs) / 1000).toFixed(1)} ms`;
  const why = reason === '' ? '' : ` (${reason})`;
  const name = xids.length === 0 ? '' : ` ${xids.join(' ')}`;
  return `#${id} ${client} ${kind} ${[...keys].join(' ')} at ${node}${name}: ${outcome}${took}${why}`;
}
