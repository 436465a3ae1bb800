/** What the drivers of transactions work with: the rooms below, the node's settings, and the way to another node. */
import { BytesError } from '../base/bytes.ts';
import { Deferred } from '../base/deferred.ts';
import type { ErrorCode } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
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
import type { Xid } from './formats/xid.ts';

export interface TransactionOptions {
  /** A branch that has waited so long asks for the outcome; unacknowledged decisions are sent again as often. */
  readonly inquiryIntervalUs: number;
  /** How long a reader waits for a prepared key. */
  readonly readWaitUs: number;
  /** How long outcomes are remembered for who asks by name. Milliseconds of the wall clock. */
  readonly retentionMs: number;
  /** How many outcomes are remembered at most, and how many names of clients. */
  readonly rememberedMax: number;
}

/** Sees to it that who must know what was carried out under a client's name does (transactions/idempotency/key-replication.ts). */
export interface NameFollower {
  /** It was carried out here, and the round tells the others. */
  follow(named: NamedRecord, round: BatchRound): void;
  /** Too few owners may know it: this node alone could tell of it after a crash. */
  isUnsafe(clientId: string): boolean;
}

/** Sees to it that whoever leads the keys next has what was carried out (transactions/one-phase/batch-replication.ts). */
export interface BatchFollower {
  /** It was carried out here, and the round tells the others. */
  follow(xid: Xid, round: Pick<BatchRound, 'isCalm' | 'items' | 'holders' | 'spread'>): void;
}

export interface TransactionContext {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly parts: RoundDependencies;
  readonly log: TransactionLog;
  readonly metrics: TransactionMetrics;
  readonly options: TransactionOptions;
  readonly lives: Incarnations;
  /** Of clients. */
  readonly names: IdempotencyKeys;
  readonly spread: NameFollower;
  readonly batches: BatchFollower;
  /**
   * Before this life the disk may have gone back to an older image, which lacks names that are still to be known: it had
   * another life, and outcomes are remembered for longer than this one has lasted.
   */
  mayHaveGoneBack(): boolean;
}

/** No answer of the other node: nothing was sent (`unsent`), or nobody knows what became of it. */
export interface NoAnswer {
  readonly kind: 'noAnswer';
  readonly unsent: boolean;
  readonly code: ErrorCode;
  readonly detail: string;
}

/** What it takes to ask another node. */
export interface Asker {
  readonly parts: Asking & Pick<RoundDependencies, 'member'>;
}

/** Asks another node. Never rejects. */
export function askNode(
  context: Asker,
  node: NodeId,
  request: BranchRequest,
  timeoutUs: number,
): Promise<BranchReply | NoAnswer> {
  const answer = new Deferred<BranchReply | NoAnswer>();
  const unsent = tryAskNode(context, node, request, timeoutUs, (reply) => answer.resolve(reply));
  if (unsent !== undefined) answer.resolve(unsent);
  return answer.promise;
}

/** Asks another node: `heard` is called once, later; never when the question was not sent, which is said at once. */
export function tryAskNode(
  { parts }: Asker,
  node: NodeId,
  request: BranchRequest,
  timeoutUs: number,
  heard: (reply: BranchReply | NoAnswer) => void,
): NoAnswer | undefined {
  const member = parts.member(node);
  if (member === undefined)
    return { kind: 'noAnswer', unsent: true, code: 'NoTargets', detail: `${node} is no member` };
  const message = { kind: 'transact', words: encodeRequest(request) } as const;
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

/** Why a branch gave no vote. */
export function silenceOf(
  reply: BranchReply | NoAnswer,
): 'no_targets' | 'prepare_timeout' | 'prepare_failed' {
  if (reply.kind !== 'noAnswer') return 'prepare_failed';
  if (reply.unsent) return 'no_targets';
  return reply.code === 'Timeout' ? 'prepare_timeout' : 'prepare_failed';
}

/** The same for people. */
export function wordsOf(reply: BranchReply | NoAnswer): string {
  return reply.kind === 'noAnswer' ? reply.detail : 'an answer to another question';
}
