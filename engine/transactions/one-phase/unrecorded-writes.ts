/**
 * Unconditional writes whose keys all have this node as primary, written under the keys' locks without a record: single
 * puts, and batches of several puts. A batch is one atomic step; with one copy of each key, that is one batch of the
 * store, and one sync. single-commits.ts runs everything else: idempotency keys, with which a client would ask again,
 * deletions, and several keys with conditions.
 *
 * If the client asked this node, only this incarnation of the node knows the transaction's id, and the client loses its
 * connection when that incarnation ends. If the client asked another node, that node hears the outcome from this
 * incarnation or not at all (remote-puts.ts).
 *
 * The other replicas get a put while it is on its way to the local disk: one round of syncs. They get a batch only once
 * it is durable here: otherwise a crash could make this node forget what they hold, and a later write could replace a
 * part of it (transactions/participant/branch.ts). One key has no parts. But a put that states what its key must hold
 * waits, too. After such a crash another client would find the condition met again, and of the two writes the first
 * might win.
 */
import { present } from '../../base/assert.ts';
import type { LockstepError } from '../../base/errors.ts';
import type { OpenSpan } from '../../base/request-trace.ts';
import { KeyPlacement } from '../../cluster/ring/key-placement.ts';
import { refusal } from '../../replica/key-slots.ts';
import { emptyVector, mergeVectors } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import type { BatchListener, LocalWrite, WriteListener } from '../../replica/replica.ts';
import type { BatchLevel, ReplicaGroup } from '../../replication/batch-round.ts';
import { BatchRound, batchPlan, enterReplicaGroup } from '../../replication/batch-round.ts';
import { ObjectRound } from '../../replication/object-round.ts';
import type { DispatchPlan } from '../../replication/plan.ts';
import { ReplicaSpans } from '../../replication/replica-spans.ts';
import type { ConsistencyLevel } from '../../replication/requests.ts';
import type { TransactionContext } from '../context.ts';
import type { CompletedTransactions } from '../coordinator/completed-transactions.ts';
import { TimelyOutcome } from './timely-outcome.ts';
import type { BranchOperation, PrepareRequest } from '../formats/messages.ts';
import type { BranchVote, Operation, TransactionOutcome, TransactionRequest } from '../formats/outcomes.ts';
import { saidBy } from '../formats/outcomes.ts';
import type { Ended, Voted } from '../formats/prepare-request.ts';
import { describeKey, keyFields, votedFailure } from '../formats/prepare-request.ts';
import { mark, markBegin } from '../formats/steps.ts';
import type { Xid } from '../formats/xid.ts';
import { certainly } from '../participant/branch.ts';
import type { Locks } from '../participant/locks.ts';

/** A put with all that is needed to write it at once. */
export interface LocalPut {
  readonly write: LocalWrite;
  readonly place: KeyPlacement;
  readonly plan: DispatchPlan;
}

/** A batch with all that is needed to write it at once. */
export interface LocalBatch {
  readonly writes: readonly LocalWrite[];
  /** The replica groups of its keys, as of the moment at which its keys were locked. */
  readonly kin: readonly ReplicaGroup[];
  readonly level: BatchLevel;
}

/** True if the request is a single put without an idempotency key, whichever node is its primary. */
export function isSinglePut({
  operations,
  clientId,
}: Pick<PrepareRequest, 'operations' | 'clientId'>): boolean {
  const [operation] = operations;
  return operations.length === 1 && clientId === '' && operation !== undefined && isPut(operation);
}

function isPut({
  check,
  content,
  ifAbsent,
}: Pick<BranchOperation, 'content' | 'ifAbsent'> & { check?: boolean }): boolean {
  return check !== true && !content.tombstone && !ifAbsent;
}

/** Runs single puts, and batches of puts, that this node leads. */
export class UnrecordedWrites {
  readonly #context: TransactionContext;
  readonly #locks: Locks;
  /** The levels of requests from this node's clients. */
  readonly #levels: Readonly<Record<ConsistencyLevel, BatchLevel>>;
  /** The branches of most outcomes. */
  readonly #branches: { readonly met: readonly BranchVote[]; readonly pending: readonly BranchVote[] };

  constructor(context: TransactionContext, locks: Locks) {
    const { node } = context.parts.self;
    this.#context = context;
    this.#locks = locks;
    const at = (level: ConsistencyLevel): BatchLevel => ({ level, coordinator: node, clientId: '' });
    this.#levels = {
      DC_ONE: at('DC_ONE'),
      DC_QUORUM: at('DC_QUORUM'),
      DC_SAFE_QUORUM: at('DC_SAFE_QUORUM'),
      DC_EACH_SAFE_QUORUM: at('DC_EACH_SAFE_QUORUM'),
    };
    this.#branches = {
      met: [{ node, vote: 'commit', pending: false }],
      pending: [{ node, vote: 'commit', pending: true }],
    };
  }

  /**
   * Locks the key of a put that qualifies, or the keys of a batch; the caller must write it next.
   * `places`: where each operation's key lives. Undefined if the request does not qualify or cannot run now; the general path then reports why.
   */
  take(
    xid: Xid,
    { operations, forceAbort, clientId }: TransactionRequest,
    places: readonly KeyPlacement[],
    level: ConsistencyLevel,
  ): LocalPut | LocalBatch | undefined {
    const [operation] = operations;
    const [place] = places;
    if (operation === undefined || place === undefined || forceAbort || clientId !== undefined)
      return undefined;
    if (operations.length > 1)
      return takeBatch(this.#context, this.#locks, xid, operations, places, this.#levels[level]);
    if (!isPut(operation)) return undefined;
    const { key, content, context, ifMatch } = operation;
    const { token } = place;
    return this.#taken(
      xid,
      { key: key.packed, token, content, context, ifMatch },
      place,
      this.#levels[level],
    );
  }

  /** The same for a prepare request of another node. */
  takeOrder(xid: Xid, order: PrepareRequest): LocalPut | undefined {
    const [operation] = order.operations;
    if (operation === undefined || !isSinglePut(order)) return undefined;
    return this.#taken(xid, operation, new KeyPlacement(operation.token, this.#context.parts.ring()), order);
  }

  #taken(
    xid: Xid,
    {
      key,
      token,
      content,
      context,
      ifMatch,
    }: Pick<BranchOperation, 'key' | 'token' | 'content' | 'context' | 'ifMatch'>,
    place: KeyPlacement,
    level: BatchLevel,
  ): LocalPut | undefined {
    const { ring, self, view, handedOver, pending, notReadyReason } = this.#context.parts;
    const placement = place.in(ring());
    if (placement[0]?.node !== self.node || !view.isRoutable(self)) return undefined;
    if (notReadyReason() !== undefined) return undefined;
    // While owners change, the next primary must have the put before any replica does (replication/batch-round.ts).
    if (pending(token).length > 0 || !handedOver(token)) return undefined;
    const write = {
      key,
      token,
      content,
      // A client that states what the key holds has seen it.
      seen: ifMatch === undefined ? (context ?? []) : mergeVectors(context ?? [], ifMatch),
      ifNoneMatch: false,
      ifContext: ifMatch,
      fromRead: ifMatch !== undefined,
    };
    const plan = batchPlan(this.#context.parts, write, placement, level);
    return plan.kind === 'plan' && this.#locks.takeShortly(xid, [write]) ? { write, place, plan } : undefined;
  }

  /**
   * Writes it and resolves with its outcome, in `timeoutUs` microseconds at most; `remembered` keeps an outcome that
   * comes later. `span`: the dispatch, if the client's request is traced.
   */
  run(
    xid: Xid,
    own: LocalPut | LocalBatch,
    level: ConsistencyLevel,
    timeoutUs: number,
    remembered: Pick<CompletedTransactions, 'keepAs' | 'keepUnknown'>,
    span?: OpenSpan,
  ): Promise<TransactionOutcome> {
    const { io, parts } = this.#context;
    const { node } = parts.self;
    const answerNow = (): boolean => writing.answerNow();
    const outcome = new TimelyOutcome(io.clock, xid, timeoutUs, remembered, answerNow);
    const operationCount = 'writes' in own ? own.writes.length : 1;
    markBegin(io, xid, node, undefined);
    const heard = (how: Voted | Ended): void => {
      if (how.kind === 'ended') {
        const branches = how.met ? this.#branches.met : this.#branches.pending;
        outcome.end(xid, { kind: 'committed', xid, operationCount, branches });
      } else if (how.vote === 'doubtful') outcome.end(xid, { kind: 'inDoubt', xid });
      else outcome.end(xid, { kind: 'aborted', xid, reason: how.reason, detail: saidBy(node, how.detail) });
    };
    const writing =
      'writes' in own ? this.#batch(xid, own, heard) : this.#put(xid, own, this.#levels[level], heard);
    writing.begin(span);
    return outcome.told;
  }

  /** Writes it. Calls `done` once, with a branch's reply to a one-step commit. */
  write(
    xid: Xid,
    put: LocalPut,
    level: BatchLevel,
    done: (how: Voted | Ended) => void,
    span?: OpenSpan,
  ): void {
    this.#put(xid, put, level, done).begin(span);
  }

  #put(xid: Xid, put: LocalPut, level: BatchLevel, done: (how: Voted | Ended) => void): PutWriting {
    return new PutWriting(this.#context, this.#locks, xid, put, level, (met) => {
      if (typeof met === 'boolean') {
        done(this.#concluded(xid, { kind: 'ended', met }));
        return;
      }
      const voted = votedFailure(met);
      const detail = `operation on ${describeKey(put.write.key)}: ${voted.detail}`;
      done(this.#concluded(xid, { ...voted, detail }));
    });
  }

  #batch(xid: Xid, batch: LocalBatch, done: (how: Voted | Ended) => void): BatchWriting {
    return new BatchWriting(this.#context, this.#locks, xid, batch, (met) => {
      const how = typeof met === 'boolean' ? ({ kind: 'ended', met } as const) : votedFailure(met);
      done(this.#concluded(xid, how));
    });
  }

  /** Counts and logs the reply. */
  #concluded(xid: Xid, how: Voted | Ended): Voted | Ended {
    const { io, metrics } = this.#context;
    const vote = how.kind === 'ended' ? 'alone' : how.vote;
    metrics.voted(vote);
    if (io.log.enabled('trace')) io.log.event('trace', 'xa.branch.concluded', { xid, vote });
    return how;
  }
}

class PutWriting implements WriteListener {
  readonly tentative: boolean;
  readonly #context: TransactionContext;
  readonly #locks: Locks;
  readonly #xid: Xid;
  readonly #write: LocalWrite;
  readonly #place: KeyPlacement;
  readonly #plan: DispatchPlan;
  readonly #level: BatchLevel;
  readonly #done: (met: boolean | LockstepError) => void;
  /** The plan is of this moment. */
  #fresh = true;
  #round: ObjectRound | undefined;
  #durable = false;
  #met: boolean | undefined;
  #span: OpenSpan | undefined;
  #spans: ReplicaSpans | undefined;

  /** Calls `done` once the put is durable here: with whether its level was met, or with the error that prevented it. */
  constructor(
    context: TransactionContext,
    locks: Locks,
    xid: Xid,
    { write, place, plan }: LocalPut,
    level: BatchLevel,
    done: (met: boolean | LockstepError) => void,
  ) {
    this.#context = context;
    this.#locks = locks;
    this.#xid = xid;
    this.#write = write;
    this.#place = place;
    this.#plan = plan;
    this.#level = level;
    this.#done = done;
    this.tentative = write.ifContext !== undefined;
  }

  begin(span: OpenSpan | undefined): void {
    const { io, parts } = this.#context;
    this.#span = span;
    this.#spans = ReplicaSpans.of(span, io.clock);
    const { key } = this.#write;
    if (io.log.enabled('trace'))
      mark(io, 'p.locks.taken', this.#xid, { phase: 'committing', ...keyFields([key]) });
    const outcome = parts.replica.coordinate(this.#write, this);
    this.#fresh = false;
    if (outcome !== 'ok') this.failed(refusal(outcome));
  }

  applied(_object: StoredObject, bytes: Uint8Array): void {
    const { io, parts } = this.#context;
    const { key, token } = this.#write;
    mark(io, 'p.apply.partial', this.#xid);
    this.#round = new ObjectRound(parts, { key, token, bytes }, this.#place, this.#planNow(), (met) => {
      this.#met ??= met;
      this.#conclude();
    });
    this.#round.trace = this.#span;
    this.#spans?.applied();
    if (!this.tentative) this.#send();
    mark(io, 'p.applied', this.#xid);
  }

  durable(): void {
    mark(this.#context.io, 'p.applied.synced', this.#xid);
    this.#release();
    this.#spans?.ended();
    this.#durable = true;
    if (this.tentative) this.#send();
    const round = present(this.#round, 'the round of an applied put');
    round.durableHere();
    this.#context.batches.follow(this.#xid, round);
    this.#conclude();
  }

  failed(error: LockstepError): void {
    this.#release();
    this.#spans?.ended(error.code);
    this.#done(this.#round === undefined ? certainly(error) : error);
  }

  #send(): void {
    this.#round?.send(this.#context.parts.settings.timeoutMs * 1000);
  }

  /** Concludes without the replicas that have not answered; returns false if the put is not durable here yet. */
  answerNow(): boolean {
    if (!this.#durable) return false;
    this.#met ??= false;
    this.#conclude();
    return true;
  }

  #conclude(): void {
    if (this.#met === undefined || !this.#durable) return;
    this.#durable = false;
    this.#done(this.#met);
  }

  #release(): void {
    this.#locks.releaseShort([this.#write]);
    mark(this.#context.io, 'p.locks.released', this.#xid);
  }

  /** The ring may have changed while the key was read from the disk. */
  #planNow(): DispatchPlan | undefined {
    if (this.#fresh) return this.#plan;
    const { parts } = this.#context;
    const plan = batchPlan(parts, this.#write, this.#place.in(parts.ring()), this.#level);
    return plan.kind === 'plan' ? plan : undefined;
  }
}

/**
 * Locks the keys of a batch that qualifies; the caller must write it next. Undefined if the operations do not qualify
 * or cannot run now; the general path then reports why.
 */
function takeBatch(
  { parts }: TransactionContext,
  locks: Locks,
  xid: Xid,
  operations: readonly Operation[],
  places: readonly KeyPlacement[],
  level: BatchLevel,
): LocalBatch | undefined {
  const { self, view, handedOver, pending, notReadyReason } = parts;
  if (!view.isRoutable(self) || notReadyReason() !== undefined) return undefined;
  const ring = parts.ring();
  const writes: LocalWrite[] = [];
  const kin: ReplicaGroup[] = [];
  for (const [index, operation] of operations.entries()) {
    const place = places[index];
    if (place === undefined || !statesNothing(operation)) return undefined;
    const { key, content } = operation;
    const { token } = place;
    const placement = place.in(ring);
    if (placement[0]?.node !== self.node) return undefined;
    // While owners change, the next primary must have the batch before any replica does (replication/batch-round.ts).
    if (pending(token).length > 0 || !handedOver(token)) return undefined;
    const ifContext = undefined;
    const write = { key: key.packed, token, content, seen: emptyVector, ifNoneMatch: false, ifContext };
    enterReplicaGroup(parts, kin, write, writes.length, placement, true, level);
    writes.push(write);
  }
  return kin.every(isPlain) && locks.takeShortly(xid, writes) ? { writes, kin, level } : undefined;
}

function statesNothing({ content, context, ifMatch, ifAbsent, check }: Operation): boolean {
  return check !== true && !content.tombstone && !ifAbsent && context === undefined && ifMatch === undefined;
}

/** True if the group can be written now, and every key keeps one value whatever it holds. */
function isPlain({ plan, rules }: ReplicaGroup): boolean {
  return plan.kind === 'plan' && (!rules.allowMult || rules.lastWriteWins);
}

/** Writes one batch: local store, then the other replicas. */
class BatchWriting implements BatchListener {
  readonly tentative = true;
  readonly #context: TransactionContext;
  readonly #locks: Locks;
  readonly #xid: Xid;
  readonly #batch: LocalBatch;
  readonly #done: (met: boolean | LockstepError) => void;
  /** The replica groups are of this moment. */
  #fresh = true;
  #round: BatchRound | undefined;
  #durable = false;
  #span: OpenSpan | undefined;
  #spans: ReplicaSpans | undefined;

  /**
   * Calls `done` once the batch is durable here: with whether its level was met, or with the error that prevented it.
   */
  constructor(
    context: TransactionContext,
    locks: Locks,
    xid: Xid,
    batch: LocalBatch,
    done: (met: boolean | LockstepError) => void,
  ) {
    this.#context = context;
    this.#locks = locks;
    this.#xid = xid;
    this.#batch = batch;
    this.#done = done;
  }

  /** Hands the batch to the local store. Call it once. */
  begin(span: OpenSpan | undefined): void {
    const { io, parts } = this.#context;
    this.#span = span;
    this.#spans = ReplicaSpans.of(span, io.clock);
    const { writes } = this.#batch;
    if (io.log.enabled('trace')) {
      const keys = keyFields(writes.map(({ key }) => key));
      mark(io, 'p.locks.taken', this.#xid, { phase: 'committing', ...keys });
    }
    parts.replica.coordinateAll(writes, [], this);
    this.#fresh = false;
  }

  applied(objects: readonly Uint8Array[]): void {
    const { io, parts } = this.#context;
    const { writes, kin, level } = this.#batch;
    mark(io, 'p.apply.partial', this.#xid);
    // The ring may have changed while keys were read from the disk.
    this.#round = new BatchRound(parts, writes, objects, level, this.#fresh ? kin : undefined);
    this.#round.trace = this.#span;
    this.#spans?.applied();
    mark(io, 'p.applied', this.#xid);
  }

  durable(): void {
    mark(this.#context.io, 'p.applied.synced', this.#xid);
    this.#release();
    this.#spans?.ended();
    const round = this.#round;
    if (round === undefined) return;
    this.#durable = true;
    round.whenMet(this.#done);
    round.send(this.#context.parts.settings.timeoutMs * 1000);
    round.durableHere();
    this.#context.batches.follow(this.#xid, round);
  }

  failed(error: LockstepError): void {
    this.#release();
    this.#spans?.ended(error.code);
    this.#done(this.#round === undefined ? certainly(error) : error);
  }

  /** Concludes without the replicas that have not answered; returns false if the batch is not durable here yet. */
  answerNow(): boolean {
    if (this.#durable) this.#round?.expire();
    return this.#durable;
  }

  #release(): void {
    this.#locks.releaseShort(this.#batch.writes);
    mark(this.#context.io, 'p.locks.released', this.#xid);
  }
}
