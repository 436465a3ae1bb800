/** A branch that this node holds, its records, and the atomic step that carries it out. */
import { present } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import { BatchRound } from '../../replication/batch-round.ts';
import type { Place } from '../../replica/key-slots.ts';
import type { StoreWrite } from '../../storage/store.ts';
import type { BranchEvent, BranchPhase, BranchStep } from '../protocol/branch-protocol.ts';
import { isUndecided, stepBranch } from '../protocol/branch-protocol.ts';
import type { NamedRecord } from '../formats/idempotency-records.ts';
import { encodeName, writeClient } from '../formats/idempotency-records.ts';
import type { TransactionContext } from '../context.ts';
import type { Followed } from '../recovery/transaction-log.ts';
import type { Ended, Voted } from '../formats/prepare-request.ts';
import { conditionalWritesOf, describeKey, isReadOnly } from '../formats/prepare-request.ts';
import { withOperations, writesOf } from '../formats/prepare-request.ts';
import type { BranchState } from '../formats/records.ts';
import { writeBranch } from '../formats/records.ts';
import { mark } from '../formats/steps.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** A branch that is, or was, prepared here. */
export interface Branch {
  readonly xid: Xid;
  phase: BranchPhase;
  /** With the contexts that its writes will have seen. */
  order: PrepareRequest;
  /** The order in the form of its message, as long as it is the one that came. */
  orderBytes: Uint8Array | undefined;
  readonly places: readonly Place[];
  readonly sinceMs: number;
  /** The coordinator's own: it has no record beside the decision. */
  own: boolean;
  /** When the outcome was last asked for, or the vote was given. */
  askedUs: number;
  /** Its coordinator has said that it lost what it had decided. */
  orphan: boolean;
  /** The vote, while it is being prepared. */
  readonly voted: Deferred<Voted>;
  /** The commit that is under way; true when the level was met. */
  applying: Promise<boolean | LockstepError> | undefined;
  /** What a one-step commit comes to, for whoever asks for it once more. */
  alone: Promise<Voted | Ended> | undefined;
}

/** `sinceMs` by the wall clock, `nowUs` by the other one. */
export function newBranch(
  xid: Xid,
  order: PrepareRequest,
  places: readonly Place[],
  sinceMs: number,
  phase: BranchPhase,
  nowUs: number,
): Branch {
  return {
    xid,
    phase,
    order,
    orderBytes: undefined,
    places,
    sinceMs,
    own: false,
    askedUs: nowUs,
    orphan: false,
    voted: new Deferred(),
    applying: undefined,
    alone: undefined,
  };
}

/** Its next step; what that commands is for the caller to do. */
export function advance(branch: Branch, event: BranchEvent): BranchStep {
  const step = stepBranch(branch.phase, event);
  branch.phase = step.phase;
  return step;
}

/** It waits for an outcome that changes nothing here but that its keys are free. */
export function waitsToForget({ phase, order }: Pick<Branch, 'phase' | 'order'>): boolean {
  return isUndecided(phase) && isReadOnly(order);
}

/** The branch's record in that state. */
export function recordOf(
  { xid, sinceMs, order, orderBytes, places }: Branch,
  state: BranchState,
): StoreWrite {
  if (state === 'prepared') return writeBranch(xid, { state, sinceMs, order, places: [] }, orderBytes);
  // Who was carried out asks nobody any more; what an operator decided is compared with what others say.
  const rest = withOperations(order, [], state === 'applied' ? [] : order.branches);
  return writeBranch(xid, { state, sinceMs, order: rest, places });
}

/** Marks a step with the keys that the branch holds. */
export function markPlaces(
  io: TransactionContext['io'],
  step: 'p.locks.taken' | 'p.recovery.scan',
  { xid, phase, places }: Branch,
): void {
  if (!io.log.enabled('trace')) return;
  mark(io, step, xid, { phase, keys: places.map(({ key }) => describeKey(key)).join(' ') });
}

/** Counts and marks a vote. */
export function tellVote({ io, metrics }: TransactionContext, { xid }: Branch, { vote }: Voted): void {
  metrics.voted(vote);
  mark(io, 'p.vote.sent', xid, { vote });
}

/** What lies beside the branch's writes in their batch: its record in that state, or the decision `instead` of it. */
export function appliedRecords(
  branch: Branch,
  state: BranchState | undefined,
  instead: StoreWrite | undefined,
): readonly StoreWrite[] {
  if (state === undefined) return [];
  const record = instead ?? recordOf(branch, state);
  const named = namedOf(branch);
  return named === undefined ? [record] : [record, writeClient(named)];
}

/** The client's name of the branch's transaction, with what is to be known of it; undefined: it has none. */
export function namedOf({ xid, sinceMs, order, places }: Branch): NamedRecord | undefined {
  if (order.clientId === '') return undefined;
  const tokens = [...new Set(places.map(({ token }) => token))];
  return { clientId: order.clientId, xid, digest: order.clientDigest, sinceMs, tokens };
}

/** How a batch is written. */
export interface Application extends Followed {
  /** Its conditions hold at the instant of the write. */
  readonly alone: boolean;
  /** A durable decision brings the batch about whatever a crash leaves of this attempt. */
  readonly decided: boolean;
  /** What takes the place of the branch's record. */
  readonly instead: StoreWrite | undefined;
}

/**
 * Writes a branch's batch and `records` in one atomic step, and sends it to the other replicas. `done` is called once:
 * with the round when it is durable here, or with the error that leaves it open whether it will be (a definite one: it
 * was not begun).
 */
export function applyBatch(
  { io, parts, names, spread, batches }: TransactionContext,
  branch: Branch,
  records: readonly StoreWrite[],
  { alone, decided, handedOver, durable: landed }: Application,
  done: (round: BatchRound | LockstepError) => void,
): void {
  const { xid, order } = branch;
  const named = namedOf(branch);
  const writes = alone ? conditionalWritesOf(order) : writesOf(order);
  const timeoutUs = parts.settings.timeoutMs * 1000;
  let round: BatchRound | undefined;
  // An attempt that a crash cuts off must not have reached anybody when nobody surely makes another: this node would
  // forget what the others hold, and write anew over a part of it. Nor where values stand beside each other: the next
  // attempt's dots differ.
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

/** The store has taken nothing, and will not. */
export function certainly(error: LockstepError): LockstepError {
  return error.definite
    ? error
    : new LockstepError(error.code, error.message, { definite: true, cause: error });
}
