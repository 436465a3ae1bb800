/**
 * The one interpreter of the branch protocol. `post` feeds an event to protocol/branch-protocol.ts, stores the phase
 * that follows, and performs each command in order: with the locks, the log, the replica and the other nodes.
 *
 * Invariants:
 * - After each event the branch holds the locks of its keys exactly while `holdsLocks(phase)`.
 * - A branch that is over leaves the table with the event that ended it.
 *
 * Left to others: which events happen. branches.ts posts the requests of coordinators and operators, inquiries.ts the
 * passing of time.
 */
import { assert, failAssertion, present, unreachable } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import type { StoreWrite } from '../../storage/store.ts';
import type { TransactionContext } from '../context.ts';
import { hasOneCopyEach } from '../coordinator/partition.ts';
import type { Voted } from '../formats/prepare-request.ts';
import {
  isReadOnly,
  votedAbort,
  votedCommit,
  votedReadOnly,
  withOperations,
} from '../formats/prepare-request.ts';
import type { BranchState } from '../formats/records.ts';
import { dropBranch } from '../formats/records.ts';
import { mark } from '../formats/steps.ts';
import { writeClient } from '../formats/idempotency-records.ts';
import type { ApplyKind, BranchCommand, BranchEvent } from '../protocol/branch-protocol.ts';
import { holdsLocks, isOver } from '../protocol/branch-protocol.ts';
import { markText } from '../recovery/redo.ts';
import type { TransactionLog } from '../recovery/transaction-log.ts';
import type { Application, Branch, Written } from './branch.ts';
import {
  appliedRecords,
  markPlaces,
  namedWhenCommitted,
  recordOf,
  reportVote,
  waitsToForget,
} from './branch.ts';
import type { BranchTable } from './branch-table.ts';
import { reportDecision, reportMixed } from './heuristic-decision.ts';
import type { Locks } from './locks.ts';

/** Asks other nodes for the outcome of a branch, and posts what it hears. Both calls return at once. */
export interface Inquirer {
  askCoordinator(branch: Branch): void;
  askBranches(branch: Branch): void;
}

/** What the driver works with. */
export interface DriverContext extends Pick<TransactionContext, 'io' | 'metrics' | 'retention'> {
  readonly names: Pick<TransactionContext['names'], 'enter'>;
  readonly spread: Pick<TransactionContext['spread'], 'carry'>;
  readonly log: Pick<TransactionLog, 'force' | 'later'>;
  readonly parts: Pick<RoundDependencies, 'ring' | 'pending'> & {
    readonly replica: Pick<RoundDependencies['replica'], 'mark' | 'mayExceedMark' | 'newest'>;
  };
}

/** `applyBatch` of the node. Calls `done` once. */
export type BatchWriter = (
  branch: Branch,
  records: readonly StoreWrite[],
  how: Application,
  done: (written: Written) => void,
) => void;

/** The record beside the batch of an `apply`; undefined: none. */
const recordStates: Readonly<Record<ApplyKind, BranchState | undefined>> = {
  decided: 'applied',
  withDecision: 'applied',
  heuristic: 'heuristicCommitted',
  onePhase: 'applied',
  onePhaseUnrecorded: undefined,
};

/** Drives the branches of `table`. */
export class BranchDriver {
  readonly #context: DriverContext;
  readonly #table: BranchTable;
  readonly #locks: Locks;
  readonly #writeBatch: BatchWriter;
  #inquirer: Inquirer | undefined;

  constructor(context: DriverContext, table: BranchTable, locks: Locks, writeBatch: BatchWriter) {
    this.#writeBatch = writeBatch;
    this.#context = context;
    this.#table = table;
    this.#locks = locks;
  }

  /** Names the inquirer of `askCoordinator` and `askBranches`; before the first branch waits. */
  inquireWith(inquirer: Inquirer): void {
    this.#inquirer = inquirer;
  }

  /** Takes up a branch in its first phase: into the table, with its locks. Marks `step`. */
  enter(branch: Branch, step: 'p.locks.taken' | 'p.recovery.scan'): void {
    const { xid, phase, places } = branch;
    assert(!isOver(phase), 'a branch that is taken up is not over');
    this.#table.add(branch);
    if (phase !== 'preparing') branch.voted.resolve(waitsToForget(branch) ? votedReadOnly() : votedCommit());
    if (phase === 'prepared' && step === 'p.recovery.scan') this.#locks.retake(xid, places);
    else if (phase === 'preparing' || phase === 'prepared') this.#locks.take(xid, places);
    if (phase === 'prepared') this.#promise(branch);
    markPlaces(this.#context.io, step, branch);
  }

  /** Feeds an event to the protocol, stores the phase that follows, and performs each command in order. */
  post(branch: Branch, event: BranchEvent): void {
    const wasOver = isOver(branch.phase);
    const commands = branch.step(event);
    if (!wasOver && isOver(branch.phase)) this.#leave(branch);
    for (const command of commands) this.#perform(branch, command);
    // A late event of a branch that was over may find its keys locked by another attempt.
    if (!wasOver) this.#checkLocks(branch);
  }

  #perform(branch: Branch, command: BranchCommand): void {
    switch (command.kind) {
      case 'forcePrepare':
        branch.forcing = this.#forcePrepare(branch);
        return;
      case 'voteCommit':
        this.#voteCommit(branch);
        return;
      case 'voteReadOnly':
        this.#promise(branch);
        this.#vote(branch, votedReadOnly());
        return;
      case 'voteAbort':
        this.#vote(branch, command.vote);
        return;
      case 'apply':
        this.#apply(branch, command.as);
        return;
      case 'release':
        this.#release(branch);
        return;
      case 'acknowledge':
        branch.mayAcknowledge = true;
        return;
      case 'dropRecord':
        this.#dropRecord(branch);
        return;
      case 'forceHeuristicRollback':
        branch.applying = this.#forceHeuristicRollback(branch);
        return;
      case 'forceOutcome':
        branch.forcing = this.#forceOutcome(branch, command.state);
        return;
      case 'reportMixed':
        reportMixed(this.#context, branch, command.decision);
        return;
      case 'askCoordinator':
        this.#asking().askCoordinator(branch);
        return;
      case 'askBranches':
        this.#asking().askBranches(branch);
        return;
      default:
        unreachable(command, 'a command of the branch protocol');
    }
  }

  async #forcePrepare(branch: Branch): Promise<LockstepError | undefined> {
    const { io, log } = this.#context;
    const { xid } = branch;
    const handedOver = (): void => mark(io, 'p.prepareRec.written', xid);
    const forced = log.force([recordOf(branch, 'prepared')], { handedOver });
    branch.orderBytes = undefined;
    const error = await forced;
    branch.forcing = undefined;
    if (error === undefined) {
      mark(io, 'p.prepareRec.synced', xid);
      branch.isRecorded = true;
      if (this.#context.parts.replica.mayExceedMark) await this.#readAhead(branch);
      this.post(branch, { kind: 'prepareForced', writes: !isReadOnly(branch.order) });
    } else {
      this.post(branch, { kind: 'prepareLost', vote: votedAbort('prepare_failed', error.message) });
    }
    return error;
  }

  /**
   * Reads what the keys hold: some may be ahead of the clock, and the mark of the vote names those. Whatever is written
   * to them from now on until the branch has ended is not taken for its writes.
   */
  async #readAhead(branch: Branch): Promise<void> {
    if (branch.phase !== 'preparing') return;
    this.#promise(branch);
    const read = new Deferred<readonly (StoredObject | undefined)[] | undefined>();
    this.#context.parts.replica.newest(branch.places, (error, objects) =>
      read.resolve(error === undefined ? objects : undefined),
    );
    branch.ahead = await read.promise;
  }

  /** At the coordinator's node the vote is counted and marked when it is durable, with the decision. */
  #voteCommit(branch: Branch): void {
    this.#promise(branch);
    if (branch.phase === 'ready') {
      branch.voted.resolve(votedCommit());
      return;
    }
    assert(branch.isRecorded, 'a branch that votes commit has a durable prepare record');
    // Without a mark a branch whose disk is lost is written again in any case.
    const isBound = branch.ahead !== undefined || !this.#context.parts.replica.mayExceedMark;
    this.#vote(branch, votedCommit(isBound ? markText(this.#context.parts.replica.mark, branch.ahead) : ''));
    branch.ahead = undefined;
  }

  /**
   * From now on readers of the keys wait for the outcome, and writers where a client may hear of it before this node.
   */
  #promise(branch: Branch): void {
    this.#locks.promise(branch.places, hasOneCopyEach(this.#context.parts, branch.order));
    branch.askedUs = this.#context.io.clock.nowUs();
  }

  #vote(branch: Branch, vote: Voted): void {
    if ((vote.vote === 'abort') === holdsLocks(branch.phase))
      failAssertion('a branch votes abort exactly without its locks', branch.xid, branch.phase, vote.vote);
    reportVote(this.#context, branch, vote);
    branch.voted.resolve(vote);
  }

  #apply(branch: Branch, as: ApplyKind): void {
    if (!holdsLocks(branch.phase))
      failAssertion('a branch is applied under its locks', branch.xid, branch.phase, as);
    const written = this.#write(branch, as);
    if (as === 'withDecision') branch.written = written;
    else branch.applying = metOf(written);
  }

  #write(branch: Branch, as: ApplyKind): Promise<Written> {
    const decision = as === 'withDecision' ? present(branch.decision, 'the decision') : undefined;
    const records = appliedRecords(branch, recordStates[as], decision?.record, this.#context.retention.nowMs);
    const how: Application = {
      alone: as === 'onePhase' || as === 'onePhaseUnrecorded',
      decided: as === 'decided',
      handedOver: decision?.handedOver,
      durable: () => {
        decision?.durable?.();
        if (as === 'withDecision') reportVote(this.#context, branch, votedCommit());
        if (as === 'heuristic') reportDecision(this.#context, branch, 'commit');
      },
    };
    const written = new Deferred<Written>();
    this.#writeBatch(branch, records, how, (round) => {
      this.#written(branch, round);
      written.resolve(round);
    });
    return written.promise;
  }

  #written(branch: Branch, round: Written): void {
    if (round instanceof LockstepError) {
      this.post(branch, { kind: round.definite ? 'applyRefused' : 'applyFailed' });
      return;
    }
    if (branch.alone !== undefined) branch.round = round;
    this.post(branch, { kind: 'applyForced' });
    // The store holds the values from now on.
    if (!waitsToForget(branch)) branch.order = withOperations(branch.order, []);
  }

  async #forceHeuristicRollback(branch: Branch): Promise<true | LockstepError> {
    const error = await this.#context.log.force([recordOf(branch, 'heuristicRolledBack')]);
    if (error === undefined) reportDecision(this.#context, branch, 'rollback');
    this.post(branch, { kind: error === undefined ? 'heuristicForced' : 'heuristicFailed' });
    return error ?? true;
  }

  async #forceOutcome(
    branch: Branch,
    state: 'applied' | 'heuristicMixed',
  ): Promise<LockstepError | undefined> {
    const { log, names, spread, retention } = this.#context;
    // The operator's commit was the coordinator's, too: now the idempotency key is used.
    const named = state === 'applied' ? namedWhenCommitted(branch, retention.nowMs) : undefined;
    const error = await log.force([
      recordOf(branch, state),
      ...(named === undefined ? [] : [writeClient(named)]),
    ]);
    branch.forcing = undefined;
    if (error !== undefined) return error;
    if (named !== undefined) {
      names.enter(named);
      branch.keyUntold = true;
      spread.carry(named);
    }
    this.post(branch, { kind: 'outcomeForced' });
    return undefined;
  }

  #release({ xid, phase, places }: Branch): void {
    if (holdsLocks(phase)) failAssertion('a branch that needs its locks keeps them', xid, phase);
    this.#locks.release(xid, places);
    mark(this.#context.io, 'p.locks.released', xid);
  }

  #leave(branch: Branch): void {
    assert(this.#table.get(branch.xid) === branch, 'a branch that ends is in the table');
    this.#table.delete(branch.xid);
  }

  /** Unforced: after a crash the branch asks again (inquiries.ts, applied-branch-cleanup.ts). */
  #dropRecord({ xid, own }: Branch): void {
    // The coordinator's own branch has no record beside the decision.
    if (!own) this.#context.log.later(dropBranch(xid));
  }

  #asking(): Inquirer {
    return present(this.#inquirer, 'the inquirer of the branches');
  }

  #checkLocks({ xid, phase, places }: Branch): void {
    const held = holdsLocks(phase);
    const kept = places.every(({ key }) => this.#locks.isHeldBy(key, xid) === held);
    assert(kept, 'a branch holds the locks of its keys exactly in the phases that need them');
  }
}

/**
 * Resolves when the round is over: true if the level was met. An error leaves open whether the batch is durable here.
 */
async function metOf(written: Promise<Written>): Promise<boolean | LockstepError> {
  const round = await written;
  return round instanceof LockstepError ? round : round.met;
}
