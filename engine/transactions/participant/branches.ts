/**
 * The branches of this node: drives transactions/protocol/branch-protocol.ts with the locks, the log and the replica. A branch prepares at
 * the primary of its keys, applies as one atomic batch with the record that says so, and is remembered until its
 * coordinator lets it go. Left to others: who asks for a missing outcome (inquiries.ts), what a start finds (transactions/recovery/recovery.ts).
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { BatchRound } from '../../replication/batch-round.ts';
import type { StoreWrite } from '../../storage/store.ts';
import type { Application, Branch } from './branch.ts';
import { advance, appliedRecords, applyBatch, markPlaces, newBranch, recordOf } from './branch.ts';
import { tellVote, waitsToForget } from './branch.ts';
import type { BranchEvent, BranchStep } from '../protocol/branch-protocol.ts';
import { isInHand, isUndecided, isUnderWay, knownOf } from '../protocol/branch-protocol.ts';
import { BranchTable } from './branch-table.ts';
import { decideHeuristically, mayBeForgotten, noteOutcome, reportMixed } from './heuristic-decision.ts';
import { checkPrepareRequest, isFree } from './conditions.ts';
import type { TransactionContext } from '../context.ts';
import { FinishedBranches } from './finished-branches.ts';
import { Locks } from './locks.ts';
import type { Followed } from '../recovery/transaction-log.ts';
import {
  isNotYetReplicated,
  incarnationRejection,
  ownershipRejection,
  tellRefusal,
} from './rejection-checks.ts';
import type { CommitReply, Ended, Voted } from '../formats/prepare-request.ts';
import { isReadOnly, placesOf, redone } from '../formats/prepare-request.ts';
import { confirm, leftOf, markText } from '../recovery/redo.ts';
import {
  votedAbort,
  votedCommit,
  votedFailure,
  votedReadOnly,
  withOperations,
} from '../formats/prepare-request.ts';
import { hasOneCopyEach } from '../coordinator/partition.ts';
import type { BranchRecord, BranchState, LocalBranch } from '../formats/records.ts';
import { dropBranch } from '../formats/records.ts';
import { mark } from '../formats/steps.ts';
import { isStillWanted } from '../coordinator/branch-requests.ts';
import type { PrepareRequest, ReportedState } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

export class Branches {
  readonly locks: Locks;
  readonly #context: TransactionContext;
  readonly #table = new BranchTable();
  readonly #ended = new FinishedBranches();

  constructor(context: TransactionContext) {
    this.#context = context;
    this.locks = new Locks(context.io.clock, context.options.readWaitUs);
    context.parts.replica.guard(this.locks);
  }

  /** Every branch with a record, oldest first. */
  get all(): readonly Branch[] {
    return this.#table.all;
  }

  find(xid: Xid): Branch | undefined {
    return this.#table.get(xid);
  }

  /** Those under a client's id. */
  named(clientId: string): readonly Branch[] {
    return this.#table.named(clientId);
  }

  /**
   * Prepares a branch and votes. `orderBytes`: the order in the form of its message; undefined: for the coordinator of
   * this node, who carries it out with its decision (`commitWith`), so that it writes nothing before.
   */
  prepare(xid: Xid, order: PrepareRequest, orderBytes?: Uint8Array, waited = false): Promise<Voted> {
    const known = this.#table.get(xid);
    if (known !== undefined) return known.voted.promise;
    if (!waited) mark(this.#context.io, 'p.prepare.recv', xid, { from: order.coordinator });
    const freed = waited ? undefined : this.#freed(order);
    if (freed !== undefined) return freed.then(() => this.prepare(xid, order, orderBytes, true));
    const refused = this.#refusal(xid, order);
    if (refused !== undefined) return Promise.resolve(refused);
    const branch = this.#enter(xid, order, 'preparing');
    branch.orderBytes = orderBytes;
    this.#context.io.spawn('xa.prepare', () => this.#prepare(branch, orderBytes === undefined));
    return branch.voted.promise;
  }

  /** A key of the order is let go as soon as the disk has taken a decided batch: that is waited for, once. */
  #freed(order: PrepareRequest): Promise<void> | undefined {
    return this.locks.freed(order.operations, (holder) => isUnderWay(this.#table.get(holder)?.phase));
  }

  /**
   * Carries out the branch of this node's own transaction in one atomic step with the decision, which speaks for it.
   * Resolves when both are durable, or with the error: a definite one says that neither is, or will be.
   */
  async commitWith(
    xid: Xid,
    decide: (own: LocalBranch) => StoreWrite,
    { handedOver, durable: followed }: Followed,
  ): Promise<LockstepError | undefined> {
    const branch = this.#table.get(xid);
    if (branch?.phase !== 'ready') return new LockstepError('Conflict', 'the branch here is gone');
    this.#step(branch, { kind: 'commitHeard' });
    branch.own = true;
    const durable = (): void => {
      followed?.();
      tellVote(this.#context, branch, votedCommit());
    };
    const decision = decide({ level: branch.order.level, places: placesOf(branch.order) });
    const how = { alone: false, decided: false, instead: decision, handedOver, durable };
    const round = await this.#write(branch, 'applied', how);
    if (round instanceof LockstepError) return round;
    branch.applying = round.met;
    return undefined;
  }

  /** Prepares and commits the only branch of a transaction in one step. */
  commitAlone(xid: Xid, order: PrepareRequest, remembered: boolean, waited = false): Promise<Voted | Ended> {
    const known = this.#table.get(xid)?.alone;
    if (known !== undefined) return known;
    const freed = waited ? undefined : this.#freed(order);
    if (freed !== undefined) return freed.then(() => this.commitAlone(xid, order, remembered, true));
    const refused = this.#refusal(xid, order, incarnationRejection(this.#context, order));
    // It stands, though the same message may come once more when nothing is against it any longer.
    if (refused !== undefined && remembered) this.#ended.enter(xid, 'refused');
    if (refused !== undefined) return Promise.resolve(refused);
    const branch = this.#enter(xid, order, 'preparing');
    branch.alone = this.#commitAlone(branch, remembered);
    return branch.alone;
  }

  async #commitAlone(branch: Branch, remembered: boolean): Promise<Voted | Ended> {
    const { xid } = branch;
    const { io, metrics } = this.#context;
    // What a prepared branch promises is looked at first; here the write itself says whether it can be.
    const free = isFree(this.#context, branch.order);
    const checked = free ? undefined : await checkPrepareRequest(this.#context, branch);
    const vote = checked ?? (await this.#applyAlone(branch, remembered));
    if (branch.phase !== 'applied') this.#table.delete(xid);
    const said = vote.kind === 'ended' ? 'alone' : vote.vote;
    metrics.voted(said);
    if (vote.kind === 'voted') this.#release(branch);
    if (io.log.enabled('trace')) io.log.event('trace', 'xa.branch.concluded', { xid, vote: said });
    if (said === 'abort' || said === 'doubtful') this.#ended.enter(xid, said === 'abort' ? 'refused' : said);
    return vote;
  }

  /**
   * A decided branch whose record this node has lost, from its coordinator: carried out as it was ordered, for it was
   * prepared and its conditions held. Resolves as `commit` does.
   */
  async redo(xid: Xid, order: PrepareRequest, mark: string): Promise<CommitReply> {
    // Nothing was lost: somebody has told this life to roll back what is decided, and others have used the keys since.
    if (this.#ended.of(xid) === 'rolledBack') return new LockstepError('Conflict', 'it was rolled back here');
    // Messages arrive twice, and late: only a coordinator that still waits for this branch has lost anything here.
    if (!this.#table.has(xid) && !(await isStillWanted(this.#context, xid, order)))
      return { kind: 'told', state: 'none' };
    const left = this.#table.has(xid) ? order : await leftOf(this.#context.parts, order, mark);
    if (left instanceof LockstepError) return left;
    if (left.operations.length === 0 && !isReadOnly(order)) return confirm(this.#context, xid, order);
    if (isNotYetReplicated(this.#context, left)) return { kind: 'told', state: 'forgotten' };
    if (!this.#table.has(xid)) {
      const objection = ownershipRejection(this.#context, this.locks, left);
      if (objection !== undefined) return new LockstepError('Conflict', objection.detail);
      this.#enter(xid, redone(left), 'prepared');
    }
    return this.commit(xid);
  }

  /** The coordinator's commit: resolves when it is done; with the error when it has to be sent again. */
  async commit(xid: Xid): Promise<CommitReply> {
    const { io } = this.#context;
    mark(io, 'p.decision.recv', xid, { decision: 'commit' });
    const branch = this.#table.get(xid);
    // Its record goes only when the coordinator has durably noted every acknowledgement, and asks no more: a coordinator
    // that asks for what is not here speaks of a branch that this disk has lost.
    if (branch === undefined) return { kind: 'told', state: 'none' };
    if (branch.phase === 'preparing' || branch.phase === 'ready' || branch.phase === 'deciding')
      return new LockstepError('Conflict', 'the branch is not prepared yet');
    // What an operator has decided is compared once it is done.
    if (isInHand(branch.phase)) await branch.applying;
    const { commands } = this.#step(branch, { kind: 'commitHeard' });
    for (const command of commands) {
      if (command.kind === 'apply') branch.applying = this.#apply(branch, 'applied');
      if (command.kind !== 'forceOutcome') continue;
      const error = await noteOutcome(this.#context, branch, command);
      if (error !== undefined) return error;
    }
    const met = await (branch.applying ?? true);
    if (met instanceof LockstepError) return met;
    mark(io, 'p.ack.sent', xid, { met });
    return { kind: 'ended', met };
  }

  /** The coordinator's rollback, or presumed abort. */
  rollback(xid: Xid): void {
    mark(this.#context.io, 'p.decision.recv', xid, { decision: 'rollback' });
    const branch = this.#table.get(xid);
    this.#ended.enter(xid, 'rolledBack');
    if (branch === undefined) return;
    const { phase, commands } = this.#step(branch, { kind: 'rollbackHeard' });
    if (phase === 'gone') this.#table.delete(xid);
    for (const { kind } of commands) {
      if (kind === 'release') this.#release(branch);
      if (kind === 'voteAbort') this.#vote(branch, votedAbort('prepare_failed', 'it was rolled back'));
      if (kind === 'reportMixed') reportMixed(this.#context, branch, 'rollback');
      if (kind === 'dropRecord') this.#drop(branch);
    }
  }

  /** What this node can tell another one. Having no record, it will not prepare the transaction any more. */
  inquire(xid: Xid): ReportedState {
    const branch = this.#table.get(xid);
    if (branch !== undefined) return knownOf(branch.phase);
    const ending = this.#ended.of(xid);
    if (ending === 'readOnly' || ending === 'doubtful') return 'undecided';
    this.#ended.enter(xid, 'refused');
    return 'none';
  }

  /** The coordinator needs it no more. */
  forget(xids: readonly Xid[]): void {
    for (const xid of xids) {
      const branch = this.#table.get(xid);
      if (branch === undefined) continue;
      const checked = waitsToForget(branch);
      if (!checked && isUndecided(branch.phase)) continue;
      // After a crash its record says that other nodes have to be told of its id: applied-branch-cleanup.ts asks again.
      if (this.#context.spread.isUnsafe(branch.order.clientId)) continue;
      const { phase, commands } = this.#step(branch, { kind: 'forgetHeard' });
      if (phase !== 'gone') continue;
      this.#table.delete(xid);
      // A prepare that comes once more, late, must not begin it anew; of what it only checked it knows no outcome. (Of
      // the coordinator's own nobody else has heard, and it has no record.)
      if (!branch.own) this.#ended.enter(xid, checked ? 'readOnly' : 'refused');
      for (const { kind } of commands) {
        if (kind === 'release') this.#release(branch);
        if (kind === 'dropRecord' && !branch.own) this.#drop(branch);
      }
    }
  }

  /** An operator's decision over a prepared branch. False: there is none. */
  decide(xid: Xid, decision: 'commit' | 'rollback'): Promise<boolean> {
    return decideHeuristically(this.#context, this.#table.get(xid), decision, {
      apply: (branch, durable) => this.#apply(branch, 'heuristicCommitted', false, durable),
      release: (branch) => this.#release(branch),
    });
  }

  /** An operator's decision is compared with nothing any more. False: there is none. Throws as `mayBeForgotten` does. */
  forgetByHand(xid: Xid): boolean {
    const branch = this.#table.get(xid);
    if (!mayBeForgotten(this.#context, branch)) return false;
    this.#step(branch, { kind: 'operatorForgot' });
    this.#drop(branch);
    return true;
  }

  /** Takes up a branch that a start has found in the log: its locks are held again at once. */
  restore(xid: Xid, { state, order, places, sinceMs }: BranchRecord, own = false): Branch {
    const held = state === 'prepared' ? placesOf(order) : places;
    const branch = newBranch(xid, order, held, sinceMs, state, this.#context.io.clock.nowUs());
    branch.own = own;
    return this.#keep(branch, 'p.recovery.scan');
  }

  async #prepare(branch: Branch, here: boolean): Promise<void> {
    const { io, log } = this.#context;
    const { xid } = branch;
    const free = isFree(this.#context, branch.order);
    const refused = free ? undefined : await checkPrepareRequest(this.#context, branch);
    if (branch.phase !== 'preparing') return;
    if (refused !== undefined) {
      this.#release(branch);
      this.#table.delete(xid);
      branch.phase = 'gone';
      this.#vote(branch, refused);
      return;
    }
    const writes = !isReadOnly(branch.order);
    if (here) {
      this.#step(branch, { kind: 'readied', writes });
      this.#promise(branch);
      // For what it writes it votes with the decision.
      if (!writes) tellVote(this.#context, branch, votedReadOnly());
      branch.voted.resolve(writes ? votedCommit() : votedReadOnly());
      return;
    }
    const handedOver = (): void => mark(io, 'p.prepareRec.written', xid);
    const forced = log.force([recordOf(branch, 'prepared')], { handedOver });
    branch.orderBytes = undefined;
    const error = await forced;
    if (error === undefined) mark(io, 'p.prepareRec.synced', xid);
    const event: BranchEvent =
      error === undefined ? { kind: 'prepareForced', writes } : { kind: 'prepareLost' };
    const { commands } = this.#step(branch, event);
    for (const { kind } of commands) {
      if (kind === 'voteCommit' || kind === 'voteReadOnly') {
        this.#promise(branch);
        const mark = markText(this.#context.parts.replica.mark);
        this.#vote(branch, kind === 'voteCommit' ? votedCommit(mark) : votedReadOnly());
      }
      if (kind === 'release') this.#release(branch);
      if (kind === 'voteAbort') this.#vote(branch, votedAbort('prepare_failed', error?.message ?? ''));
      if (kind === 'dropRecord') this.#drop(branch);
    }
  }

  /** From now on readers wait for the outcome, and writers where a client may hear of it before. */
  #promise(branch: Branch): void {
    this.locks.promise(branch.places, hasOneCopyEach(this.#context.parts, branch.order));
    branch.askedUs = this.#context.io.clock.nowUs();
  }

  #vote(branch: Branch, vote: Voted): void {
    tellVote(this.#context, branch, vote);
    branch.voted.resolve(vote);
  }

  async #applyAlone(branch: Branch, remembered: boolean): Promise<Voted | Ended> {
    // Checked under locks that nobody else's branch waits behind: that was all.
    if (isReadOnly(branch.order)) return votedReadOnly();
    branch.phase = 'committing';
    const keep = remembered || branch.order.clientId !== '';
    // Plain writes take no locks: the conditions hold when the batch is written, not only when they were looked at.
    const met = await this.#apply(branch, keep ? 'applied' : undefined, true);
    if (!keep) branch.phase = 'gone';
    if (!(met instanceof LockstepError)) return { kind: 'ended', met };
    branch.phase = 'gone';
    return votedFailure(met);
  }

  /** Writes the batch, with `recordState` in its record; true when the level was met. */
  async #apply(
    branch: Branch,
    recordState: BranchState | undefined,
    alone = false,
    durable: (() => void) | undefined = undefined,
  ): Promise<boolean | LockstepError> {
    const decided = recordState === 'applied' && !alone;
    const how = { alone, decided, instead: undefined, handedOver: undefined, durable };
    const round = await this.#write(branch, recordState, how);
    return round instanceof LockstepError ? round : round.met;
  }

  /** Writes the batch, with `recordState` in its record or what is said instead of it, and lets the keys go. */
  #write(
    branch: Branch,
    recordState: BranchState | undefined,
    how: Application,
  ): Promise<BatchRound | LockstepError> {
    const records = appliedRecords(branch, recordState, how.instead);
    const written = new Deferred<BatchRound | LockstepError>();
    applyBatch(this.#context, branch, records, how, (round) => {
      this.#written(branch, round);
      written.resolve(round);
    });
    return written.promise;
  }

  #written(branch: Branch, round: BatchRound | LockstepError): void {
    if (round instanceof LockstepError) {
      this.#step(branch, { kind: round.definite ? 'applyRefused' : 'applyFailed' });
      return;
    }
    this.#step(branch, { kind: 'applyForced' });
    this.#release(branch);
    // What it wrote is in the store now.
    branch.order = withOperations(branch.order, []);
  }

  /** Why the order is not even tried; undefined when nothing stands against it. Counted and told. */
  #refusal(xid: Xid, order: PrepareRequest, stale?: Voted): Voted | undefined {
    const known = this.#table.has(xid) ? votedAbort('prepare_failed', 'it is known already') : undefined;
    const named = this.#table.named(order.clientId);
    const before = known ?? this.#ended.objection(xid) ?? this.#context.names.standsAgainst(order, named);
    const refused = before ?? stale ?? ownershipRejection(this.#context, this.locks, order, xid);
    if (refused !== undefined) tellRefusal(this.#context, xid, refused);
    return refused;
  }

  #enter(xid: Xid, order: PrepareRequest, phase: 'preparing' | 'prepared'): Branch {
    const { clock } = this.#context.io;
    const branch = newBranch(xid, order, placesOf(order), clock.wallMs(), phase, clock.nowUs());
    return this.#keep(branch, 'p.locks.taken');
  }

  #keep(branch: Branch, step: 'p.locks.taken' | 'p.recovery.scan'): Branch {
    const { xid, phase, places } = branch;
    this.#table.add(branch);
    if (phase !== 'preparing') branch.voted.resolve(waitsToForget(branch) ? votedReadOnly() : votedCommit());
    if (phase === 'preparing' || phase === 'prepared') this.locks.take(xid, places);
    if (phase === 'prepared') this.#promise(branch);
    markPlaces(this.#context.io, step, branch);
    return branch;
  }

  #step(branch: Branch, event: BranchEvent): BranchStep {
    return advance(branch, event);
  }

  #release({ xid, places }: Branch): void {
    this.locks.release(xid, places);
    mark(this.#context.io, 'p.locks.released', xid);
  }

  /** The record goes, unforced; what is lost of this is asked about again (inquiries.ts, applied-branch-cleanup.ts). */
  #drop(branch: Branch): void {
    this.#table.delete(branch.xid);
    this.#context.log.later(dropBranch(branch.xid));
  }
}
