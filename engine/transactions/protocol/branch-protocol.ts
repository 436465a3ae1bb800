/**
 * One branch of a transaction as a pure state machine: events in, commands out, both printable. `BranchDriver`
 * (participant/branch-driver.ts) feeds it and performs every command. `coordinator-protocol.ts` names the sources and
 * tabulates which record is forced when. The states follow X/Open XA (C193): S2 idle, S3 prepared, S5 heuristically
 * completed.
 *
 * Invariants:
 * - A branch votes commit only after its prepare record is durable. At the coordinator's own node it needs no such
 *   record: one atomic write holds the decision and the branch's batch, so a crash leaves both or neither.
 * - A prepared branch follows the coordinator's decision, another branch that knows this decision, or an operator. An
 *   operator's heuristic decision is over this branch alone. The branch records it until the coordinator says forget.
 * - The branch holds its locks from before its vote until the outcome. This includes a branch that writes nothing and
 *   votes read-only: until the outcome, another branch of its transaction may not hold its own locks yet.
 * - A branch that is over (`isOver`) obeys no event any more.
 *
 * A transaction whose keys have one primary commits in one phase: its only branch checks its conditions in the write
 * itself, and never is prepared.
 */
import type { Voted } from '../formats/prepare-request.ts';
import { votedAbort } from '../formats/prepare-request.ts';

/** The state of a branch. Nothing but `stepBranch` derives one phase from another. */
export type BranchPhase =
  /** Its keys are locked; its conditions are being checked, or its prepare record is on its way to the disk. */
  | 'preparing'
  /** At the coordinator's own node: checked and locked; applied together with the decision, or never. */
  | 'ready'
  /** The decision and this branch's batch are on their way to the disk. If that fails, only a restart can tell. */
  | 'deciding'
  /** It has voted, and waits for the outcome. */
  | 'prepared'
  /** The coordinator has committed it: its batch is on its way to the disk. */
  | 'committing'
  /** The only branch of a one-phase transaction: its batch, with its conditions, is on its way to the disk. */
  | 'committingOnePhase'
  /** Its writes are durable. */
  | 'applied'
  /** The coordinator has rolled it back. */
  | 'rolledBack'
  /** An operator's commit is on its way to the disk. */
  | 'heuristicCommitting'
  /** An operator has committed it; the coordinator's decision is not known yet. */
  | 'heuristicCommitted'
  /** An operator's rollback is on its way to the disk: the locks are held until it is durable. */
  | 'heuristicRollingBack'
  /** An operator has rolled it back; the coordinator's decision is not known yet. */
  | 'heuristicRolledBack'
  /** An operator has rolled it back and the coordinator has committed it: that is durable and reported. */
  | 'heuristicMixed'
  /** This node has no record of it any more, or is about to drop it. */
  | 'gone';

/** What happens to a branch. */
export type BranchEvent =
  /** A condition does not hold, or the keys may not be taken: the branch votes as `vote` says. */
  | { readonly kind: 'refused'; readonly vote: Voted }
  /** The conditions hold, and the coordinator is another node. */
  | { readonly kind: 'checked' }
  /** The conditions hold, and the coordinator is this node. `writes`: the branch has something to write. */
  | { readonly kind: 'readied'; readonly writes: boolean }
  /** The prepare record is durable. */
  | { readonly kind: 'prepareForced'; readonly writes: boolean }
  /** The prepare record could not be written, or may not have been: the branch votes as `vote` says. */
  | { readonly kind: 'prepareLost'; readonly vote: Voted }
  /** This one-phase branch may be written. `recorded`: with a record that answers a later question for its outcome. */
  | { readonly kind: 'onePhaseChecked'; readonly recorded: boolean }
  /** The outcome of this one-phase branch is known, and no record of it remains. */
  | { readonly kind: 'onePhaseAnswered' }
  /** The coordinator has decided to commit. */
  | { readonly kind: 'commitHeard' }
  /** The coordinator has decided to roll back, or its lack of a record says so (presumed abort). */
  | { readonly kind: 'rollbackHeard' }
  /** The writes, and the record that says so, are durable. */
  | { readonly kind: 'applyForced' }
  /** The write of the batch has failed; the disk may hold it all the same. */
  | { readonly kind: 'applyFailed' }
  /** The disk has taken nothing of the batch, and never will. */
  | { readonly kind: 'applyRefused' }
  /** An operator decides the branch. */
  | { readonly kind: 'operatorDecided'; readonly decision: 'commit' | 'rollback' }
  /**
   * An operator gives up the comparison with the coordinator's decision: the coordinator is gone (X/Open
   * `xa_forget`).
   */
  | { readonly kind: 'operatorForgot' }
  /** The operator's rollback is durable. */
  | { readonly kind: 'heuristicForced' }
  /** The operator's rollback is not durable, or may not be. The operator gets the error. */
  | { readonly kind: 'heuristicFailed' }
  /** The record of `forceOutcome` is durable: the coordinator's commit of an operator's decision is known. */
  | { readonly kind: 'outcomeForced' }
  /** The branch has waited for the outcome for one inquiry interval. */
  | { readonly kind: 'waited' }
  /** The coordinator cannot be reached, or does not know the outcome yet. */
  | { readonly kind: 'coordinatorSilent' }
  /** The coordinator needs the branch no more. */
  | { readonly kind: 'forgetHeard' };

/** What is written beside the batch of an `apply`, and which decision stands behind the batch. */
export type ApplyKind =
  /** The coordinator's durable decision; with an `applied` record. */
  | 'decided'
  /** The coordinator on this node: its decision record is in the same batch, in place of a record of the branch. */
  | 'withDecision'
  /** An operator's; with a `heuristicCommitted` record. */
  | 'heuristic'
  /** None: the batch is the commit. With an `applied` record. */
  | 'onePhase'
  /** The same without a record. */
  | 'onePhaseUnrecorded';

/** What the driver does for a branch. */
export type BranchCommand =
  /** Force the prepare record; then post `prepareForced` or `prepareLost`. */
  | { readonly kind: 'forcePrepare' }
  /** Readers of the keys wait from now on. The coordinator gets the vote. */
  | { readonly kind: 'voteCommit' }
  | { readonly kind: 'voteReadOnly' }
  | { readonly kind: 'voteAbort'; readonly vote: Voted }
  /**
   * Write the batch and what `as` says in one atomic step; then post `applyForced`, `applyFailed` or `applyRefused`.
   */
  | { readonly kind: 'apply'; readonly as: ApplyKind }
  /** Release the locks. */
  | { readonly kind: 'release' }
  /** From now on a commit of the coordinator is answered: the branch is applied, or its mixed outcome is durable. */
  | { readonly kind: 'acknowledge' }
  /** Not forced: after a crash the branch asks for the outcome again, and presumed abort answers. */
  | { readonly kind: 'dropRecord' }
  /**
   * Force the operator's rollback, to be compared with the coordinator's decision; then post `heuristicForced` or
   * `heuristicFailed`.
   */
  | { readonly kind: 'forceHeuristicRollback' }
  /**
   * Force the coordinator's commit of a branch that an operator has decided, before it is acknowledged; then post
   * `outcomeForced`.
   */
  | { readonly kind: 'forceOutcome'; readonly state: 'applied' | 'heuristicMixed' }
  /** Report that the coordinator's `decision` differs from the operator's. */
  | { readonly kind: 'reportMixed'; readonly decision: 'commit' | 'rollback' }
  /** Ask the coordinator for the outcome; post `coordinatorSilent` if it does not know. */
  | { readonly kind: 'askCoordinator' }
  /** Ask the other branches for the outcome. */
  | { readonly kind: 'askBranches' };

/** A step of the protocol: the phase that follows, and the commands, to be performed in this order. */
export interface BranchStep {
  readonly phase: BranchPhase;
  readonly commands: readonly BranchCommand[];
}

const to = (phase: BranchPhase, ...commands: readonly BranchCommand[]): BranchStep => ({ phase, commands });

const votedFor = (writes: boolean): BranchCommand => ({ kind: writes ? 'voteCommit' : 'voteReadOnly' });

/** The step that `event` brings about in `phase`. An event that does not fit the phase changes and commands nothing. */
export function stepBranch(phase: BranchPhase, event: BranchEvent): BranchStep {
  switch (event.kind) {
    case 'refused':
    case 'checked':
    case 'readied':
    case 'prepareForced':
    case 'prepareLost':
    case 'onePhaseChecked':
      return phase === 'preparing' ? prepare(event) : to(phase);
    case 'onePhaseAnswered':
      return endOnePhase(phase);
    case 'commitHeard':
      return hearCommit(phase);
    case 'rollbackHeard':
      return hearRollback(phase);
    case 'applyForced':
      return applied(phase);
    case 'applyRefused':
      return phase === 'deciding' ? to('ready') : failed(phase);
    case 'applyFailed':
      return failed(phase);
    case 'operatorDecided':
      return phase === 'prepared' ? hearOperator(event.decision) : to(phase);
    case 'operatorForgot':
      return isHeuristicPending(phase) ? to('gone', { kind: 'dropRecord' }) : to(phase);
    case 'heuristicForced':
      return phase === 'heuristicRollingBack' ? to('heuristicRolledBack', { kind: 'release' }) : to(phase);
    case 'heuristicFailed':
      return phase === 'heuristicRollingBack' ? to('prepared') : to(phase);
    case 'outcomeForced':
      return hearOutcomeForced(phase);
    case 'waited':
      return waits(phase) ? to(phase, { kind: 'askCoordinator' }) : to(phase);
    case 'coordinatorSilent':
      return phase === 'prepared' ? to(phase, { kind: 'askBranches' }) : to(phase);
    case 'forgetHeard':
      return hearForget(phase);
  }
}

/** The branch waits for the coordinator's decision: prepared, or decided by an operator and not yet compared. */
export function waits(phase: BranchPhase): boolean {
  return phase === 'prepared' || phase === 'heuristicCommitted' || phase === 'heuristicRolledBack';
}

/**
 * The branch has its coordinator's commit: applied, or compared with an operator's rollback. The record stays until the
 * coordinator needs the branch no more.
 */
export function hasCommit(phase: BranchPhase): boolean {
  return phase === 'applied' || phase === 'heuristicMixed';
}

/** An operator's decision over the branch is durable. */
export function isHeuristicPending(phase: BranchPhase): boolean {
  return phase === 'heuristicCommitted' || phase === 'heuristicRolledBack' || phase === 'heuristicMixed';
}

/** The coordinator may commit the branch, or roll it back. */
export function isUndecided(phase: BranchPhase): boolean {
  return phase === 'prepared' || phase === 'ready';
}

/** An operator's decision over the branch is on its way to the disk. */
export function isHeuristicUnderWay(phase: BranchPhase): boolean {
  return phase === 'heuristicCommitting' || phase === 'heuristicRollingBack';
}

/** The branch waits for the disk alone: it releases its locks soon, whatever other nodes do. */
export function isUnderWay(phase: BranchPhase | undefined): boolean {
  return phase === 'committing' || phase === 'committingOnePhase' || phase === 'deciding';
}

/** No event changes the branch any more, and this node does not keep it. */
export function isOver(phase: BranchPhase): boolean {
  return phase === 'gone' || phase === 'rolledBack';
}

/**
 * Whether a branch in phase `before` may ever be in phase `after` next: an outcome, the coordinator's or an operator's,
 * does not change, and a branch that is over stays so. Everything else is left to `stepBranch`.
 */
export function mayFollow(before: BranchPhase, after: BranchPhase): boolean {
  if (before === after) return true;
  switch (before) {
    case 'gone':
    case 'rolledBack':
      return false;
    case 'applied':
    case 'heuristicMixed':
      return after === 'gone';
    case 'heuristicCommitted':
      return after === 'applied' || after === 'gone';
    case 'heuristicRolledBack':
      return after === 'heuristicMixed' || after === 'gone';
    case 'preparing':
    case 'ready':
    case 'deciding':
    case 'prepared':
    case 'committing':
    case 'committingOnePhase':
    case 'heuristicCommitting':
    case 'heuristicRollingBack':
      return after !== 'preparing';
  }
}

/** The branch holds the locks of its keys in this phase, and in no other. */
export function holdsLocks(phase: BranchPhase): boolean {
  switch (phase) {
    case 'preparing':
    case 'ready':
    case 'deciding':
    case 'prepared':
    case 'committing':
    case 'committingOnePhase':
    case 'heuristicCommitting':
    case 'heuristicRollingBack':
      return true;
    case 'applied':
    case 'rolledBack':
    case 'heuristicCommitted':
    case 'heuristicRolledBack':
    case 'heuristicMixed':
    case 'gone':
      return false;
  }
}

/**
 * What a branch in this phase can tell other branches of the outcome. An operator's decision is over this branch
 * alone, so it tells them nothing.
 */
export function knownOf(phase: BranchPhase): 'committed' | 'undecided' {
  return phase === 'applied' ? 'committed' : 'undecided';
}

type PrepareEvent = Extract<
  BranchEvent,
  { kind: 'refused' | 'checked' | 'readied' | 'prepareForced' | 'prepareLost' | 'onePhaseChecked' }
>;

/** A branch in `preparing` goes on. */
function prepare(event: PrepareEvent): BranchStep {
  switch (event.kind) {
    case 'refused':
      return to('gone', { kind: 'release' }, { kind: 'voteAbort', vote: event.vote });
    case 'checked':
      return to('preparing', { kind: 'forcePrepare' });
    case 'readied':
      return to('ready', votedFor(event.writes));
    case 'prepareForced':
      return to('prepared', votedFor(event.writes));
    case 'prepareLost':
      return to('gone', { kind: 'release' }, { kind: 'voteAbort', vote: event.vote }, { kind: 'dropRecord' });
    case 'onePhaseChecked':
      return to('committingOnePhase', {
        kind: 'apply',
        as: event.recorded ? 'onePhase' : 'onePhaseUnrecorded',
      });
  }
}

/** An applied branch has released its locks already. */
function endOnePhase(phase: BranchPhase): BranchStep {
  if (phase === 'preparing' || phase === 'committingOnePhase') return to('gone', { kind: 'release' });
  return to(phase === 'applied' ? 'gone' : phase);
}

function hearCommit(phase: BranchPhase): BranchStep {
  switch (phase) {
    case 'prepared':
      return to('committing', { kind: 'apply', as: 'decided' });
    case 'ready':
      return to('deciding', { kind: 'apply', as: 'withDecision' });
    case 'applied':
    case 'heuristicMixed':
    case 'gone':
      // The coordinator repeats its commit: the branch is applied once, and acknowledges again.
      return to(phase, { kind: 'acknowledge' });
    case 'heuristicCommitted':
      return to(phase, { kind: 'forceOutcome', state: 'applied' });
    case 'heuristicRolledBack':
      return to(phase, { kind: 'forceOutcome', state: 'heuristicMixed' });
    case 'preparing':
    case 'deciding':
    case 'committing':
    case 'committingOnePhase':
    case 'heuristicCommitting':
    case 'heuristicRollingBack':
    case 'rolledBack':
      return to(phase);
  }
}

/** The vote of a branch that its coordinator rolls back before it has voted. */
const votedAfterRollback = votedAbort('prepare_failed', 'it was rolled back');

function hearRollback(phase: BranchPhase): BranchStep {
  switch (phase) {
    case 'preparing':
      // The prepare record may yet become durable. The branch votes abort, so the coordinator never commits it.
      return to(
        'rolledBack',
        { kind: 'release' },
        { kind: 'voteAbort', vote: votedAfterRollback },
        { kind: 'dropRecord' },
      );
    case 'ready':
      // The branch has no record, and gets none.
      return to('gone', { kind: 'release' });
    case 'prepared':
      return to('rolledBack', { kind: 'dropRecord' }, { kind: 'release' });
    case 'heuristicCommitted':
      return to('gone', { kind: 'reportMixed', decision: 'rollback' }, { kind: 'dropRecord' });
    case 'heuristicRolledBack':
      return to('gone', { kind: 'dropRecord' });
    case 'deciding':
    case 'committing':
    case 'committingOnePhase':
    case 'applied':
    case 'rolledBack':
    case 'heuristicCommitting':
    case 'heuristicRollingBack':
    case 'heuristicMixed':
    case 'gone':
      return to(phase);
  }
}

function hearOutcomeForced(phase: BranchPhase): BranchStep {
  const acknowledge = { kind: 'acknowledge' } as const;
  if (phase === 'heuristicCommitted') return to('applied', acknowledge);
  return phase === 'heuristicRolledBack'
    ? to('heuristicMixed', { kind: 'reportMixed', decision: 'commit' }, acknowledge)
    : to(phase, acknowledge);
}

function applied(phase: BranchPhase): BranchStep {
  switch (phase) {
    case 'committing':
    case 'deciding':
      return to('applied', { kind: 'release' }, { kind: 'acknowledge' });
    case 'committingOnePhase':
      return to('applied', { kind: 'release' });
    case 'heuristicCommitting':
      return to('heuristicCommitted', { kind: 'release' });
    case 'preparing':
    case 'ready':
    case 'prepared':
    case 'applied':
    case 'rolledBack':
    case 'heuristicCommitted':
    case 'heuristicRollingBack':
    case 'heuristicRolledBack':
    case 'heuristicMixed':
    case 'gone':
      return to(phase);
  }
}

/**
 * A repeated commit applies the branch again. A failed write of the decision leaves it open, until a restart, whether
 * both are durable. A one-phase branch ends with the answer to its coordinator (`onePhaseAnswered`).
 */
function failed(phase: BranchPhase): BranchStep {
  return to(phase === 'committing' || phase === 'heuristicCommitting' ? 'prepared' : phase);
}

function hearOperator(decision: 'commit' | 'rollback'): BranchStep {
  return decision === 'commit'
    ? to('heuristicCommitting', { kind: 'apply', as: 'heuristic' })
    : to('heuristicRollingBack', { kind: 'forceHeuristicRollback' });
}

/** Before the outcome, only a branch that has nothing to write hears a forget. */
function hearForget(phase: BranchPhase): BranchStep {
  if (phase === 'prepared') return to('gone', { kind: 'release' }, { kind: 'dropRecord' });
  if (phase === 'ready') return to('gone', { kind: 'release' });
  return phase === 'applied' || isHeuristicPending(phase) ? to('gone', { kind: 'dropRecord' }) : to(phase);
}

/** `voteCommit`, `apply withDecision`, `forceOutcome applied`: for people and goldens. */
export function describeBranchCommand(command: BranchCommand): string {
  switch (command.kind) {
    case 'apply':
      return `apply ${command.as}`;
    case 'forceOutcome':
      return `forceOutcome ${command.state}`;
    case 'reportMixed':
      return `reportMixed ${command.decision}`;
    case 'forcePrepare':
    case 'voteCommit':
    case 'voteReadOnly':
    case 'voteAbort':
    case 'release':
    case 'acknowledge':
    case 'dropRecord':
    case 'forceHeuristicRollback':
    case 'askCoordinator':
    case 'askBranches':
      return command.kind;
  }
}
