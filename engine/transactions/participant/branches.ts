/**
 * The branches of this node, as coordinators and operators see them: prepare, commit, roll back, forget, decide. Each
 * request becomes an event of the branch protocol; branch-driver.ts performs what the protocol commands.
 *
 * A branch prepares at the primary of its keys, applies as one atomic batch together with the record that says so, and
 * keeps this record until its coordinator says forget.
 *
 * Left to others: asking for an outcome that stays out (inquiries.ts), and what a start finds in the log
 * (recovery/recovery.ts).
 */
import { present } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { StoreWrite } from '../../storage/store.ts';
import { applyBatch, Branch, waitsToForget } from './branch.ts';
import type { Inquirer } from './branch-driver.ts';
import { BranchDriver } from './branch-driver.ts';
import type { BranchEvent } from '../protocol/branch-protocol.ts';
import {
  hasCommit,
  isHeuristicPending,
  isHeuristicUnderWay,
  isUndecided,
  isUnderWay,
  knownOf,
} from '../protocol/branch-protocol.ts';
import { BranchTable } from './branch-table.ts';
import { checkForgettable, decideHeuristically, reportForgotten } from './heuristic-decision.ts';
import { checkPrepareRequest, isFree } from './conditions.ts';
import type { TransactionContext } from '../context.ts';
import type { DoubtfulAttempt } from './finished-branches.ts';
import { FinishedBranches } from './finished-branches.ts';
import { Locks } from './locks.ts';
import type { Followed } from '../recovery/transaction-log.ts';
import {
  isNotYetReplicated,
  incarnationRejection,
  ownershipRejection,
  reportRefusal,
} from './rejection-checks.ts';
import type { CommitReply, Ended, Voted } from '../formats/prepare-request.ts';
import { isReadOnly, placesOf } from '../formats/prepare-request.ts';
import { votedAbort, votedFailure, votedReadOnly } from '../formats/prepare-request.ts';
import { confirm, leftOf } from '../recovery/redo.ts';
import type { BranchRecord, LocalBranch } from '../formats/records.ts';
import { mark } from '../formats/steps.ts';
import { isStillWanted } from '../coordinator/branch-requests.ts';
import type { PrepareRequest, ReportedState } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** The branches of one node. */
export class Branches {
  readonly locks: Locks;
  readonly #context: TransactionContext;
  readonly #driver: BranchDriver;
  readonly #table = new BranchTable();
  readonly #ended = new FinishedBranches();

  /** The locks guard the replica's keys from now on. */
  constructor(context: TransactionContext) {
    this.#context = context;
    this.locks = new Locks(context.io.clock, context.options.readWaitUs);
    this.#driver = new BranchDriver(context, this.#table, this.locks, (...batch) =>
      applyBatch(context, ...batch),
    );
    context.parts.replica.guard(this.locks);
  }

  /** Every branch that is not over, oldest first. */
  get all(): readonly Branch[] {
    return this.#table.all;
  }

  /** The branch of the transaction; undefined if this node has none that is not over. */
  find(xid: Xid): Branch | undefined {
    return this.#table.get(xid);
  }

  /** The branches of transactions with this idempotency key that may still write, or may have written. */
  named(clientId: string): readonly DoubtfulAttempt[] {
    const doubtful = this.#ended.doubtfulUnder(clientId);
    const open = this.#table.named(clientId);
    return doubtful.length === 0 ? open : [...open, ...doubtful];
  }

  /** All such branches of transactions with an idempotency key. */
  get allNamed(): readonly DoubtfulAttempt[] {
    const open = this.#table.all.filter(({ order }) => order.clientId !== '');
    return [...open, ...this.#ended.doubtful];
  }

  /** Names the inquirer that asks for outcomes that stay out; before the first `waited` is posted. */
  inquireWith(inquirer: Inquirer): void {
    this.#driver.inquireWith(inquirer);
  }

  /** Posts an event of the inquirer's. */
  post(branch: Branch, event: Extract<BranchEvent, { kind: 'waited' | 'coordinatorSilent' }>): void {
    this.#driver.post(branch, event);
  }

  /**
   * Prepares a branch and resolves with its vote. `orderBytes`: the request as the bytes of its message. Undefined if
   * the coordinator is this node: it applies the branch together with its decision (`commitWith`), so the branch
   * writes nothing before. `waited`: the request has waited for a lock already.
   */
  prepare(xid: Xid, order: PrepareRequest, orderBytes?: Uint8Array, waited = false): Promise<Voted> {
    const known = this.#table.get(xid);
    if (known !== undefined) return known.voted.promise;
    if (!waited) mark(this.#context.io, 'p.prepare.recv', xid, { from: order.coordinator });
    const freed = waited ? undefined : this.#freed(order);
    if (freed !== undefined) {
      sometimes('transaction.waits-for-lock-on-disk');
      return freed.then(() => this.prepare(xid, order, orderBytes, true));
    }
    const refused = this.#refusal(xid, order);
    if (refused !== undefined) return Promise.resolve(refused);
    const branch = this.#enter(xid, order, 'preparing');
    branch.orderBytes = orderBytes;
    this.#context.io.spawn('xa.prepare', () => this.#prepare(branch, orderBytes === undefined));
    return branch.voted.promise;
  }

  /** Resolves when a key that only waits for the disk is free. Undefined if no key of the request is locked so. */
  #freed(order: PrepareRequest): Promise<void> | undefined {
    return this.locks.freed(order.operations, (holder) => isUnderWay(this.#table.get(holder)?.phase));
  }

  async #prepare(branch: Branch, here: boolean): Promise<void> {
    const free = isFree(this.#context, branch.order);
    const refused = free ? undefined : await checkPrepareRequest(this.#context, branch);
    if (refused !== undefined) this.#driver.post(branch, { kind: 'refused', vote: refused });
    else if (here) this.#driver.post(branch, { kind: 'readied', writes: !isReadOnly(branch.order) });
    else this.#driver.post(branch, { kind: 'checked' });
    await branch.forcing;
  }

  /**
   * Applies the branch of a transaction that this node coordinates, in one atomic write with the decision record that
   * `decide` makes. Resolves when both are durable, or with an error; a definite error says that neither is, or ever
   * will be.
   */
  async commitWith(
    xid: Xid,
    decide: (own: LocalBranch) => StoreWrite,
    { handedOver, durable }: Followed,
  ): Promise<LockstepError | undefined> {
    const branch = this.#table.get(xid);
    if (branch?.phase !== 'ready') return new LockstepError('Conflict', 'the branch here is gone');
    branch.own = true;
    const record = decide({ level: branch.order.level, places: placesOf(branch.order) });
    branch.decision = { record, handedOver, durable };
    this.#driver.post(branch, { kind: 'commitHeard' });
    const round = await present(branch.written, 'the batch of a decision');
    branch.decision = undefined;
    branch.written = undefined;
    if (round instanceof LockstepError) return round;
    branch.applying = round.met;
    return undefined;
  }

  /**
   * Checks and commits the only branch of a transaction in one phase. `remembered`: a record of the branch stays, so
   * that it can answer for its outcome. Resolves with `ended` once its round is over, or with the vote that says why
   * it was not applied (`doubtful`: it may have been).
   */
  commitAlone(xid: Xid, order: PrepareRequest, remembered: boolean, waited = false): Promise<Voted | Ended> {
    const known = this.#table.get(xid)?.alone;
    if (known !== undefined) return known;
    const freed = waited ? undefined : this.#freed(order);
    if (freed !== undefined) return freed.then(() => this.commitAlone(xid, order, remembered, true));
    const refused = this.#refusal(xid, order, incarnationRejection(this.#context, order));
    // The refusal is final, even if the same message comes again when the reason is gone.
    if (refused !== undefined && remembered) this.#ended.enter(xid, 'refused');
    if (refused !== undefined) return Promise.resolve(refused);
    const branch = this.#enter(xid, order, 'preparing');
    branch.alone = this.#commitAlone(branch, remembered || order.clientId !== '');
    return branch.alone;
  }

  /**
   * Makes a one-phase commit whose writes are durable here conclude without the replicas that have not answered. False
   * if they are not durable.
   */
  answerNow(xid: Xid): boolean {
    const round = this.#table.get(xid)?.round;
    round?.expire();
    return round !== undefined;
  }

  async #commitAlone(branch: Branch, recorded: boolean): Promise<Voted | Ended> {
    const { xid } = branch;
    const { io, metrics } = this.#context;
    // A branch that prepares checks its conditions first, because its vote is a promise. Here the write checks them.
    const free = isFree(this.#context, branch.order);
    const checked = free ? undefined : await checkPrepareRequest(this.#context, branch);
    const vote = checked ?? (await this.#applyAlone(branch, recorded));
    if (vote.kind === 'voted' || !recorded) this.#driver.post(branch, { kind: 'onePhaseAnswered' });
    const reported = vote.kind === 'ended' ? 'alone' : vote.vote;
    metrics.voted(reported);
    if (io.log.enabled('trace')) io.log.event('trace', 'xa.branch.concluded', { xid, vote: reported });
    if (reported === 'abort') this.#ended.enter(xid, 'refused');
    if (reported === 'doubtful') this.#ended.enterDoubtful(xid, branch.order);
    return vote;
  }

  async #applyAlone(branch: Branch, recorded: boolean): Promise<Voted | Ended> {
    // Its conditions held under its locks, and no other branch waits for it: that is all.
    if (isReadOnly(branch.order)) return votedReadOnly();
    // Plain writes take no locks: the write checks the conditions again.
    this.#driver.post(branch, { kind: 'onePhaseChecked', recorded });
    if (branch.applying === undefined) return votedAbort('prepare_failed', 'it was rolled back');
    const met = await branch.applying;
    branch.round = undefined;
    return met instanceof LockstepError ? votedFailure(met) : { kind: 'ended', met };
  }

  /**
   * Applies a decided branch whose record this node has lost, as the coordinator first asked for it: it had been
   * prepared, so its conditions held. `mark`: the text of its vote (recovery/redo.ts). Resolves as `commit` does; with
   * `forgotten` if the keys have another primary by now.
   */
  async redo(xid: Xid, order: PrepareRequest, mark: string): Promise<CommitReply> {
    const rolledBack = this.#rolledBack(xid);
    if (rolledBack !== undefined) return rolledBack;
    // A message may arrive late or twice. Only if the coordinator still waits for the branch has this node lost it.
    if (!this.#table.has(xid) && !(await isStillWanted(this.#context, xid, order)))
      return { kind: 'told', state: 'none' };
    const left = this.#table.has(xid) ? order : await leftOf(this.#context.parts, order, mark);
    if (left instanceof LockstepError) return left;
    // A rollback may have come meanwhile.
    const rolledBackSince = this.#rolledBack(xid);
    if (rolledBackSince !== undefined) return rolledBackSince;
    if (left.operations.length === 0 && !isReadOnly(order)) {
      sometimes('transaction.redo-already-applied');
      return confirm(this.#context, xid, order);
    }
    if (isNotYetReplicated(this.#context, left)) return { kind: 'told', state: 'forgotten' };
    if (!this.#table.has(xid)) {
      const rejection = ownershipRejection(this.#context, this.locks, left);
      if (rejection !== undefined) return new LockstepError('Conflict', rejection.detail);
      this.#enter(xid, left, 'prepared');
    }
    return this.commit(xid);
  }

  /**
   * An error if this incarnation was told to roll the branch back. Then no record of it was lost, and other clients have
   * written its keys since.
   */
  #rolledBack(xid: Xid): LockstepError | undefined {
    if (this.#ended.of(xid) !== 'rolledBack') return undefined;
    sometimes('transaction.redo-after-rollback');
    return new LockstepError('Conflict', 'it was rolled back here');
  }

  /**
   * The coordinator commits the branch. Resolves with `ended` once the branch is applied and its round is over, with
   * `none` if this node has no record of it, or with the error after which the coordinator has to repeat the commit.
   */
  async commit(xid: Xid): Promise<CommitReply> {
    const { io } = this.#context;
    mark(io, 'p.decision.recv', xid, { decision: 'commit' });
    const branch = this.#table.get(xid);
    // A coordinator says forget only when it has durably noted every acknowledgement, and commits no more. So it asks
    // for a branch that this node does not have only if this disk has lost the branch.
    if (branch === undefined) {
      sometimes('transaction.commit-without-record');
      return { kind: 'told', state: 'none' };
    }
    const { phase } = branch;
    if (phase === 'preparing' || phase === 'ready' || phase === 'deciding') {
      sometimes('transaction.commit-before-prepared');
      return new LockstepError('Conflict', 'the branch is not prepared yet');
    }
    // A heuristic decision can be compared once it is durable.
    if (isHeuristicUnderWay(phase)) await branch.applying;
    this.#driver.post(branch, { kind: 'commitHeard' });
    if (branch.forcing !== undefined) {
      const error = await branch.forcing;
      if (error !== undefined) return error;
    }
    const met = await (branch.applying ?? true);
    if (met instanceof LockstepError) return met;
    // A majority of the owners knows the key of every transaction that is acknowledged (lookup.ts).
    if (branch.keyUntold && this.#context.spread.isUnsafe(branch.order.clientId))
      return new LockstepError('Conflict', 'too few owners know the idempotency key yet');
    if (!branch.mayAcknowledge) return new LockstepError('Conflict', 'the branch is not applied yet');
    mark(io, 'p.ack.sent', xid, { met });
    return { kind: 'ended', met };
  }

  /** The coordinator rolls the branch back, or has no record of it (presumed abort). */
  rollback(xid: Xid): void {
    mark(this.#context.io, 'p.decision.recv', xid, { decision: 'rollback' });
    const branch = this.#table.get(xid);
    this.#ended.enter(xid, 'rolledBack');
    if (branch === undefined) {
      sometimes('transaction.rollback-of-unknown');
      return;
    }
    const isUncompared = isHeuristicPending(branch.phase) && waitsToForget(branch);
    this.#driver.post(branch, { kind: isUncompared ? 'forgetHeard' : 'rollbackHeard' });
  }

  /** What this node tells a branch that asks. If it has no record, it will not prepare the transaction any more. */
  inquire(xid: Xid): ReportedState {
    const branch = this.#table.get(xid);
    if (branch !== undefined) return knownOf(branch.phase);
    const ending = this.#ended.of(xid);
    if (ending === 'readOnly' || ending === 'doubtful') return 'undecided';
    this.#ended.enter(xid, 'refused');
    return 'none';
  }

  /** The coordinators need these branches no more. A branch that writes, and still waits for its outcome, stays. */
  forget(xids: readonly Xid[]): void {
    for (const xid of xids) {
      const branch = this.#table.get(xid);
      if (branch === undefined) continue;
      const checked = waitsToForget(branch);
      if (!checked && isUndecided(branch.phase)) continue;
      // After a crash, the record says that other nodes lack the idempotency key. applied-branch-cleanup.ts asks again.
      if (this.#context.spread.isUnsafe(branch.order.clientId)) {
        sometimes('transaction.forget-postponed');
        continue;
      }
      this.#driver.post(branch, { kind: 'forgetHeard' });
      if (branch.phase !== 'gone') continue;
      // A late prepare must not begin the transaction anew. Of a branch that only checked, this node knows no outcome.
      // (No other node has heard of the coordinator's own branch.)
      if (!branch.own) this.#ended.enter(xid, checked ? 'readOnly' : 'refused');
    }
  }

  /** An operator decides a prepared branch; see `decideHeuristically`. */
  decide(xid: Xid, decision: 'commit' | 'rollback'): Promise<boolean> {
    const branch = this.#table.get(xid);
    return decideHeuristically(this.#context, branch, decision, (...posted) => this.#driver.post(...posted));
  }

  /** Whether the branch of the transaction has something to write, and waits for the outcome or is being decided. */
  waits(xid: Xid): boolean {
    const branch = this.#table.get(xid);
    if (branch === undefined || waitsToForget(branch)) return false;
    return !hasCommit(branch.phase) && !isHeuristicPending(branch.phase);
  }

  /**
   * An operator gives up the comparison of a heuristic decision. Resolves with false if the branch has none. Rejects as
   * `checkForgettable` does.
   */
  async forgetHeuristic(xid: Xid): Promise<boolean> {
    const branch = this.#table.get(xid);
    if (branch === undefined || !isHeuristicPending(branch.phase)) return false;
    await checkForgettable(this.#context, branch);
    // It may have been compared meanwhile, or abandoned by another request.
    if (!isHeuristicPending(branch.phase)) return false;
    reportForgotten(this.#context, branch);
    this.#driver.post(branch, { kind: 'operatorForgot' });
    return true;
  }

  /** A start has found a record of the branch that is damaged: this node does not know what it did. */
  enterDamaged(xid: Xid): void {
    this.#ended.enterDamaged(xid);
  }

  /** Takes up a branch that a start has found in the log, and locks its keys again at once. `own` as in `Branch`. */
  restore(xid: Xid, { state, order, places, sinceMs }: BranchRecord, own = false): Branch {
    const held = state === 'prepared' ? placesOf(order) : places;
    const branch = new Branch(xid, order, held, sinceMs, state, this.#context.io.clock.nowUs());
    branch.own = own;
    branch.isRecorded = !own;
    this.#driver.enter(branch, 'p.recovery.scan');
    return branch;
  }

  /** Why the request is not even tried; undefined if it may be. Counts and logs a refusal. */
  #refusal(xid: Xid, order: PrepareRequest, stale?: Voted): Voted | undefined {
    const known = this.#table.has(xid) ? votedAbort('prepare_failed', 'it is known already') : undefined;
    const named = this.named(order.clientId);
    const before = known ?? this.#ended.rejectionOf(xid) ?? this.#context.names.standsAgainst(order, named);
    const refused = before ?? stale ?? ownershipRejection(this.#context, this.locks, order, xid);
    if (refused !== undefined) reportRefusal(this.#context, xid, refused);
    return refused;
  }

  #enter(xid: Xid, order: PrepareRequest, phase: 'preparing' | 'prepared'): Branch {
    const { clock } = this.#context.io;
    const branch = new Branch(xid, order, placesOf(order), clock.wallMs(), phase, clock.nowUs());
    this.#driver.enter(branch, 'p.locks.taken');
    return branch;
  }
}
