/**
 * The context that every driver of transactions works with: the services below, the node's settings, and how one node
 * asks another.
 */
import type { Pauses } from '../io/pauses.ts';
import { BytesError } from '../base/bytes.ts';
import { Deferred } from '../base/deferred.ts';
import type { ErrorCode } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import type { TraceContext } from '../base/request-trace.ts';
import type { BatchRound } from '../replication/batch-round.ts';
import type { Asking, RoundDependencies } from '../replication/round-dependencies.ts';
import { askPeer } from '../replication/round-dependencies.ts';
import type { Io } from '../io/io.ts';
import type { IdempotencyKeys } from './idempotency/idempotency-keys.ts';
import type { NamedRecord } from './formats/idempotency-records.ts';
import type { TransactionLog } from './recovery/transaction-log.ts';
import type { Incarnations } from './recovery/log-horizon.ts';
import type { TransactionMetrics } from './metrics.ts';
import type { BranchReply, BranchRequest } from './formats/messages.ts';
import { decodeReply, encodeRequest } from './formats/messages.ts';
import type { RetentionClock } from '../base/retention-clock.ts';
import type { Xid } from './formats/xid.ts';

/** Settings of transactions, from the configuration (`transaction_*`). */
export interface TransactionOptions {
  /**
   * A branch that has waited this long asks for the outcome. The coordinator resends unacknowledged commits at this
   * interval. Microseconds.
   */
  readonly inquiryIntervalUs: number;
  /** How long a reader waits for a prepared key. Microseconds. */
  readonly readWaitUs: number;
  /** How long outcomes and idempotency keys are kept: milliseconds, by clocks that no jump of the wall clock moves. */
  readonly retentionMs: number;
  /** The most outcomes that are kept, and the most idempotency keys. */
  readonly rememberedMax: number;
  /** Bytes of one page of idempotency keys that is sent to a peer, about. */
  readonly pageBytes: number;
  /** Items of one message, or of one write, of background work at most. */
  readonly pageItems: number;
}

/**
 * Tracks whether enough owners know each idempotency key that this node applied
 * (transactions/idempotency/key-replication.ts).
 */
export interface NameFollower {
  /**
   * Called when a transaction with an idempotency key was applied here. `round` sends the batch to the other replicas.
   */
  follow(named: NamedRecord, round: BatchRound): void;
  /** A transaction with an idempotency key was applied here before, and no other owner of its keys knows the key yet. */
  carry(named: NamedRecord): void;
  /** True while so few owners may know the key that after a crash only this node could report the transaction. */
  isUnsafe(clientId: string): boolean;
}

/**
 * Tracks whether the next primary of each key has the batches that this node applied
 * (transactions/one-phase/batch-replication.ts).
 */
export interface BatchFollower {
  /**
   * Called when the transaction was applied here. `round` sends the batch to the other replicas. `isRecovered`: an
   * earlier incarnation applied it, and owners may have changed since.
   */
  follow(
    xid: Xid,
    round: Pick<BatchRound, 'isCalm' | 'items' | 'holders' | 'spread'>,
    isRecovered?: boolean,
  ): void;
}

/** The services of one node's transactions. `Transactions` builds it once and hands it to every driver. */
export interface TransactionContext {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly parts: RoundDependencies;
  readonly log: TransactionLog;
  readonly metrics: TransactionMetrics;
  readonly options: TransactionOptions;
  /** Incarnation numbers of this node and its peers. */
  readonly lives: Incarnations;
  /** Idempotency keys of clients, and the transactions that were applied under them. */
  readonly names: IdempotencyKeys;
  /** By which idempotency records age. */
  readonly retention: RetentionClock;
  readonly spread: NameFollower;
  readonly batches: BatchFollower;
  /**
   * True while this disk may be an older image of itself, which lacks idempotency keys that other nodes still keep.
   * That is so if the disk had an earlier incarnation, and this incarnation is younger than `retentionMs`.
   */
  mayHaveGoneBack(): boolean;
  /** Pauses between attempts to ask another node; they end when the node stops. */
  readonly pauses: Pauses;
}

/**
 * The other node gave no answer. `unsent`: the request was not sent. Otherwise it is unknown whether the node received
 * it.
 */
export interface NoAnswer {
  readonly kind: 'noAnswer';
  readonly unsent: boolean;
  readonly code: ErrorCode;
  readonly detail: string;
}

/** The part of the context that is needed to ask another node. */
export interface Asker {
  readonly parts: Asking & Pick<RoundDependencies, 'member'>;
}

/** Asks another node and waits at most `timeoutUs` microseconds. Never rejects: a failure resolves as `NoAnswer`. */
export function askNode(
  context: Asker,
  node: NodeId,
  request: BranchRequest,
  timeoutUs: number,
  trace?: TraceContext,
): Promise<BranchReply | NoAnswer> {
  const answer = new Deferred<BranchReply | NoAnswer>();
  const unsent = tryAskNode(context, node, request, timeoutUs, (reply) => answer.resolve(reply), trace);
  if (unsent !== undefined) answer.resolve(unsent);
  return answer.promise;
}

/**
 * Asks another node. If the request was sent, calls `heard` once, later. If it could not be sent, returns why at once
 * and never calls `heard`. `trace`: the span of the dispatch, if the client's request is traced.
 */
export function tryAskNode(
  { parts }: Asker,
  node: NodeId,
  request: BranchRequest,
  timeoutUs: number,
  heard: (reply: BranchReply | NoAnswer) => void,
  trace?: TraceContext,
): NoAnswer | undefined {
  const member = parts.member(node);
  if (member === undefined)
    return { kind: 'noAnswer', unsent: true, code: 'NoTargets', detail: `${node} is not a member` };
  const message = { kind: 'transact', words: encodeRequest(request), trace } as const;
  const error = askPeer(parts, member, message, timeoutUs, (reply) => {
    if (reply.kind === 'transacted') heard(understood(reply.words));
    else if (reply.kind === 'failed')
      heard({ kind: 'noAnswer', unsent: false, code: reply.code, detail: reply.detail });
    else heard({ kind: 'noAnswer', unsent: false, code: 'Internal', detail: reply.kind });
  });
  if (error === undefined) return undefined;
  return { kind: 'noAnswer', unsent: true, code: error.code, detail: error.message };
}

function understood(words: Uint8Array): BranchReply | NoAnswer {
  try {
    return decodeReply(words);
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    return { kind: 'noAnswer', unsent: false, code: 'Internal', detail: error.message };
  }
}

/** The abort reason for a branch that gave no vote. */
export function silenceOf(
  reply: BranchReply | NoAnswer,
): 'no_targets' | 'prepare_timeout' | 'prepare_failed' {
  if (reply.kind !== 'noAnswer') return 'prepare_failed';
  // The bucket was flushed: the node has done nothing, and the coordinator knows the present epoch by now.
  if (reply.unsent || reply.code === 'StaleEpoch') return 'no_targets';
  return reply.code === 'Timeout' ? 'prepare_timeout' : 'prepare_failed';
}

/** The same as text for people. */
export function wordsOf(reply: BranchReply | NoAnswer): string {
  return reply.kind === 'noAnswer' ? reply.detail : 'an answer to another question';
}
