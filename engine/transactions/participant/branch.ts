/**
 * A branch that this node holds: its state, its records, and the atomic step that applies it. `Branch.step` is the only
 * place that changes the phase, and `BranchDriver` (branch-driver.ts) its only caller.
 */
import { failAssertion, present } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import { BatchRound } from '../../replication/batch-round.ts';
import type { Place } from '../../replica/key-slots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import type { StoreWrite } from '../../storage/store.ts';
import type { BranchCommand, BranchEvent, BranchPhase } from '../protocol/branch-protocol.ts';
import {
  isHeuristicPending,
  isHeuristicUnderWay,
  isUndecided,
  mayFollow,
  stepBranch,
} from '../protocol/branch-protocol.ts';
import type { NamedRecord } from '../formats/idempotency-records.ts';
import { encodeName, writeClient } from '../formats/idempotency-records.ts';
import type { TransactionContext } from '../context.ts';
import type { Followed } from '../recovery/transaction-log.ts';
import type { Ended, Voted } from '../formats/prepare-request.ts';
import { conditionalWritesOf, isReadOnly, keyFields } from '../formats/prepare-request.ts';
import { withOperations, writesOf } from '../formats/prepare-request.ts';
import type { BranchState } from '../formats/records.ts';
import { writeBranch } from '../formats/records.ts';
import { mark } from '../formats/steps.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/**
 * The round of a batch that is durable here, or the error that may have kept the batch from the disk; a definite error
 * certainly has. Only one reader may take `met`.
 */
export type Written = Pick<BatchRound, 'met' | 'expire'> | LockstepError;

/** The decision of the coordinator on this node, which one atomic write makes durable together with the branch. */
export interface OwnDecision extends Followed {
  readonly record: StoreWrite;
}

/** One branch of a transaction, on the node that is the primary of the branch's keys. */
export class Branch {
  readonly xid: Xid;
  /**
   * What the branch writes and checks; once its conditions are checked, with the contexts that its writes have seen.
   */
  order: PrepareRequest;
  /** `order` as the bytes of the message that brought it; undefined once the two may differ. */
  orderBytes: Uint8Array | undefined;
  /** The keys of the branch. It holds their locks exactly while `holdsLocks(phase)`. */
  readonly places: readonly Place[];
  /** When the branch came, in milliseconds of the wall clock. */
  readonly sinceMs: number;
  /** The coordinator is this node, and the branch has no record beside the decision. */
  own = false;
  /** When the branch last asked for its outcome, or voted. Microseconds of the monotonic clock. */
  askedUs: number;
  /** The coordinator has said that it lost its decision with its disk. */
  orphan = false;
  /** It has learned its outcome from an inquiry, and that is counted. */
  hasLearned = false;
  /** A record of the branch is durable: its prepare record, or the record that a start found. */
  isRecorded = false;
  /** A commit of the coordinator may be answered: the protocol has commanded `acknowledge`. */
  mayAcknowledge = false;
  /** What its keys held before it voted, if one of them may be ahead of the clock (`recovery/redo.ts`). */
  ahead: readonly (StoredObject | undefined)[] | undefined;
  /** The vote of a branch that prepares. */
  readonly voted = new Deferred<Voted>();
  /** What `apply withDecision` writes in place of a record of the branch. */
  decision: OwnDecision | undefined;
  /** The batch of `apply withDecision` on its way to the disk. */
  written: Promise<Written> | undefined;
  /** The round of a one-phase commit whose writes are durable here, while other replicas are still to answer. */
  round: Pick<BatchRound, 'expire'> | undefined;
  /** The prepare record or the outcome that is on its way to the disk; undefined when neither is. */
  forcing: Promise<LockstepError | undefined> | undefined;
  /** The idempotency key was entered here alone, after an operator's commit: its owners are still to learn of it. */
  keyUntold = false;
  /** The last attempt to apply the branch, or to roll it back for an operator; true when the level was met. */
  applying: Promise<boolean | LockstepError> | undefined;
  /** The answer to a one-phase commit, for a request that comes twice. */
  alone: Promise<Voted | Ended> | undefined;
  #phase: BranchPhase;

  /** `phase` is the first one: `preparing`, or what a record says. `sinceMs` and `askedUs` as the fields. */
  constructor(
    xid: Xid,
    order: PrepareRequest,
    places: readonly Place[],
    sinceMs: number,
    phase: BranchPhase,
    askedUs: number,
  ) {
    this.xid = xid;
    this.order = order;
    this.places = places;
    this.sinceMs = sinceMs;
    this.askedUs = askedUs;
    this.#phase = phase;
  }

  /** Where the protocol stands. */
  get phase(): BranchPhase {
    return this.#phase;
  }

  /** Feeds an event to the protocol and takes its next phase. The caller performs the commands, in order. */
  step(event: BranchEvent): readonly BranchCommand[] {
    const { phase, commands } = stepBranch(this.#phase, event);
    if (!mayFollow(this.#phase, phase))
      failAssertion('a branch keeps its outcome', this.xid, this.#phase, event.kind, phase);
    this.#phase = phase;
    return commands;
  }
}

/**
 * The branch has nothing to write: whatever the outcome, it only releases its locks. If an operator has decided it, it
 * released them then, and no outcome can differ from that decision.
 */
export function waitsToForget({ phase, order }: Pick<Branch, 'phase' | 'order'>): boolean {
  return isUndecided(phase) ? isReadOnly(order) : isHeuristicPending(phase) && onlyChecks(order);
}

/** The branch has checks and nothing else. False once its operations are done and dropped. */
export function onlyChecks(order: PrepareRequest): boolean {
  return order.operations.length > 0 && isReadOnly(order);
}

/** The branch's record in `state`. */
export function recordOf(
  { xid, sinceMs, order, orderBytes, places }: Branch,
  state: BranchState,
): StoreWrite {
  if (state === 'prepared') return writeBranch(xid, { state, sinceMs, order, places: [] }, orderBytes);
  // The record names the other branches: one of them may have to learn the outcome from this one.
  // The checks tell a start that nothing was written.
  const kept = state !== 'applied' && onlyChecks(order) ? order : withOperations(order, []);
  return writeBranch(xid, { state, sinceMs, order: kept, places });
}

/** Marks a step, with the keys and the phase of the branch. */
export function markPlaces(
  io: TransactionContext['io'],
  step: 'p.locks.taken' | 'p.recovery.scan',
  { xid, phase, places }: Branch,
): void {
  if (!io.log.enabled('trace')) return;
  mark(io, step, xid, { phase, ...keyFields(places.map(({ key }) => key)) });
}

/** Counts and marks a vote. */
export function reportVote(
  { io, metrics }: Pick<TransactionContext, 'io' | 'metrics'>,
  { xid }: Branch,
  { vote }: Voted,
): void {
  metrics.voted(vote);
  mark(io, 'p.vote.sent', xid, { vote });
}

/**
 * The records in the batch of the branch's writes: its own in `state`, or the decision `instead` of it, and the one
 * of its idempotency key, of age 0 at `sinceMs` (retention clock). `state` undefined: none.
 */
export function appliedRecords(
  branch: Branch,
  state: BranchState | undefined,
  instead: StoreWrite | undefined,
  sinceMs: number,
): readonly StoreWrite[] {
  if (state === undefined) return [];
  const record = instead ?? recordOf(branch, state);
  const named = namedOf(branch, sinceMs);
  return named === undefined ? [record] : [record, writeClient(named)];
}

/**
 * The idempotency-key record of the branch's transaction, of age 0 at `sinceMs` (retention clock). Undefined if the
 * client gave it no key, or if an operator has decided the branch: that decision is over this branch alone, and tells
 * nothing of the transaction.
 */
export function namedOf(branch: Branch, sinceMs: number): NamedRecord | undefined {
  const { phase } = branch;
  return isHeuristicUnderWay(phase) || isHeuristicPending(phase)
    ? undefined
    : namedWhenCommitted(branch, sinceMs);
}

/** As `namedOf`, for a transaction that is known to be committed. */
export function namedWhenCommitted({ xid, order, places }: Branch, sinceMs: number): NamedRecord | undefined {
  if (order.clientId === '') return undefined;
  const tokens = [...new Set(places.map(({ token }) => token))];
  return { clientId: order.clientId, xid, digest: order.clientDigest, sinceMs, tokens };
}

/** How `applyBatch` writes a batch, and the callbacks of its steps. */
export interface Application extends Followed {
  /** A one-phase commit: the store checks the conditions at the instant of the write. */
  readonly alone: boolean;
  /** A durable decision stands behind the batch: if a crash cuts this attempt off, another one follows. */
  readonly decided: boolean;
}

/**
 * Writes a branch's batch and `records` in one atomic step, and sends the batch to the other replicas. Calls `done`
 * once: with the round when the batch is durable here, or with an error. Unless the error is definite, the batch may
 * still be durable, or become so.
 */
export function applyBatch(
  { io, parts, names, retention, spread, batches }: TransactionContext,
  branch: Branch,
  records: readonly StoreWrite[],
  { alone, decided, handedOver, durable: landed }: Application,
  done: (round: BatchRound | LockstepError) => void,
): void {
  const { xid, order } = branch;
  const named = namedOf(branch, retention.nowMs);
  const writes = alone ? conditionalWritesOf(order) : writesOf(order);
  const timeoutUs = parts.settings.timeoutMs * 1000;
  let round: BatchRound | undefined;
  // The other replicas get the batch before it is durable here only if another attempt surely follows a crash.
  // Otherwise this node would forget what they hold, and write over a part of it. Keys with siblings never qualify,
  // because the next attempt has other dots.
  const early = decided && writes.every(({ key }) => !parts.rules(key).allowMult);
  parts.replica.coordinateAll(writes, records, {
    tentative: !early,
    applied: (bytes) => {
      handedOver?.();
      mark(io, 'p.apply.partial', xid);
      const clientName = named === undefined ? undefined : encodeName(named);
      round = new BatchRound(parts, writes, bytes, order, undefined, clientName);
      if (early) round.send(timeoutUs);
      mark(io, 'p.applied', xid);
    },
    durable: () => {
      landed?.();
      mark(io, 'p.applied.synced', xid);
      const applied = present(round, 'the round of an applied batch');
      if (!early) applied.send(timeoutUs);
      applied.durableHere();
      if (named !== undefined) names.enter(named);
      if (named !== undefined) spread.follow(named, applied);
      batches.follow(xid, applied);
      done(applied);
    },
    failed: (error) => done(round === undefined ? certainly(error) : error),
  });
}

/** The same error, stating that the store has taken nothing and never will. */
export function certainly(error: LockstepError): LockstepError {
  return error.definite
    ? error
    : new LockstepError(error.code, error.message, { definite: true, cause: error });
}
