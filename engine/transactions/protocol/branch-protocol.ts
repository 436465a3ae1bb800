/**
 * One branch of a transaction as a pure state machine: events in, commands out, both printable (sources and the table
 * of what is forced when: coordinator-protocol.ts; states after X/Open XA, C193: S2 idle, S3 prepared, S5 heuristically
 * completed).
 *
 * Invariants: a branch votes commit only after its prepare record is durable (at the coordinator's own node it needs none:
 * it is carried out in one atomic step with the decision, so a crash leaves both or neither); from then on it changes its
 * mind for nobody but the coordinator's decision, another branch that knows it, or an operator (a heuristic decision, over
 * this branch alone, which is remembered until the coordinator lets it be forgotten); its locks are held from before the vote until the outcome, also
 * those of a branch that has nothing to write and votes read-only: until then another branch may not hold its own yet.
 */

export type BranchPhase =
  | 'preparing'
  /** At the coordinator's own node: checked and locked; carried out with the decision, or never. */
  | 'ready'
  /** The decision, and this branch with it, is on its way to the disk; if that fails only a restart can tell. */
  | 'deciding'
  | 'prepared'
  | 'committing'
  | 'applied'
  | 'rolledBack'
  | 'heuristicCommitting'
  | 'heuristicCommitted'
  /** An operator's rollback is on its way to the disk: until it is there, nothing is let go. */
  | 'heuristicRollingBack'
  | 'heuristicRolledBack'
  /** The same, and it has heard that the coordinator has committed: that is on the disk, and told. */
  | 'heuristicMixed'
  | 'gone';

export type BranchEvent =
  /** Its coordinator is this node. `writes`: there is something to carry out. */
  | { readonly kind: 'readied'; readonly writes: boolean }
  /** The prepare record is durable. */
  | { readonly kind: 'prepareForced'; readonly writes: boolean }
  /** The prepare record could not be written, or nobody knows whether it was. */
  | { readonly kind: 'prepareLost' }
  | { readonly kind: 'commitHeard' }
  | { readonly kind: 'rollbackHeard' }
  /** The writes, and the record that says so, are durable. */
  | { readonly kind: 'applyForced' }
  | { readonly kind: 'applyFailed' }
  /** The disk has taken nothing, and never will. */
  | { readonly kind: 'applyRefused' }
  | { readonly kind: 'operatorDecided'; readonly decision: 'commit' | 'rollback' }
  /** What an operator has decided is to be compared with nothing any more: its coordinator is gone (X/Open: `xa_forget`). */
  | { readonly kind: 'operatorForgot' }
  /** An operator's rollback is durable; or it is not, or nobody knows: it is told whoever gave it. */
  | { readonly kind: 'heuristicForced' }
  | { readonly kind: 'heuristicFailed' }
  /** What it has heard of an operator's decision, in `forceOutcome`, is durable. */
  | { readonly kind: 'outcomeForced' }
  /** The outcome has stayed out for so long that somebody has to be asked. */
  | { readonly kind: 'waited' }
  /** The coordinator cannot be reached, or does not know yet. */
  | { readonly kind: 'coordinatorSilent' }
  | { readonly kind: 'forgetHeard' };

export type BranchCommand =
  | { readonly kind: 'voteCommit' }
  | { readonly kind: 'voteReadOnly' }
  | { readonly kind: 'voteAbort' }
  /** Write the batch and the `applied` record in one atomic step. */
  | { readonly kind: 'apply' }
  | { readonly kind: 'release' }
  | { readonly kind: 'acknowledge' }
  /** No force: a lost removal is asked about again, and presumed abort answers. */
  | { readonly kind: 'dropRecord' }
  /** An operator's decision, forced, to be compared with the coordinator's. */
  | { readonly kind: 'forceHeuristic'; readonly decision: 'commit' | 'rollback' }
  /** An operator has decided it, and now its commit was heard: forced before it is acknowledged, so that nobody asks any more. */
  | { readonly kind: 'forceOutcome'; readonly state: 'applied' | 'heuristicMixed' }
  | { readonly kind: 'reportMixed' }
  | { readonly kind: 'askCoordinator' }
  | { readonly kind: 'askBranches' };

export interface BranchStep {
  readonly phase: BranchPhase;
  readonly commands: readonly BranchCommand[];
}

const stay = (phase: BranchPhase, ...kinds: readonly BranchCommand[]): BranchStep => ({
  phase,
  commands: kinds,
});

const votedFor = (writes: boolean): BranchCommand => ({ kind: writes ? 'voteCommit' : 'voteReadOnly' });

export function stepBranch(phase: BranchPhase, event: BranchEvent): BranchStep {
  switch (event.kind) {
    case 'readied':
      return phase === 'preparing' ? stay('ready', votedFor(event.writes)) : stay(phase);
    case 'prepareForced':
      return phase === 'preparing' ? stay('prepared', votedFor(event.writes)) : stay(phase);
    case 'prepareLost':
      return phase === 'preparing'
        ? stay('gone', { kind: 'release' }, { kind: 'voteAbort' }, { kind: 'dropRecord' })
        : stay(phase);
    case 'commitHeard':
      return hearCommit(phase);
    case 'rollbackHeard':
      return hearRollback(phase);
    case 'applyForced':
      return applied(phase);
    case 'applyRefused':
      return phase === 'deciding' ? stay('ready') : failed(phase);
    case 'applyFailed':
      return failed(phase);
    case 'operatorDecided':
      return phase === 'prepared' ? hearOperator(event.decision) : stay(phase);
    case 'operatorForgot':
      return isHeuristicPending(phase) ? stay('gone', { kind: 'dropRecord' }) : stay(phase);
    case 'heuristicForced':
      return phase === 'heuristicRollingBack'
        ? stay('heuristicRolledBack', { kind: 'release' })
        : stay(phase);
    case 'heuristicFailed':
      return phase === 'heuristicRollingBack' ? stay('prepared') : stay(phase);
    case 'outcomeForced':
      return hearOutcomeForced(phase);
    case 'waited':
      return waits(phase) ? stay(phase, { kind: 'askCoordinator' }) : stay(phase);
    case 'coordinatorSilent':
      return phase === 'prepared' ? stay(phase, { kind: 'askBranches' }) : stay(phase);
    case 'forgetHeard':
      return hearForget(phase);
  }
}

/** Prepared, or decided by an operator and not yet compared with the coordinator's decision. */
export function waits(phase: BranchPhase): boolean {
  return phase === 'prepared' || phase === 'heuristicCommitted' || phase === 'heuristicRolledBack';
}

/** An operator has decided it, for good. */
export function isHeuristicPending(phase: BranchPhase): boolean {
  return phase === 'heuristicCommitted' || phase === 'heuristicRolledBack' || phase === 'heuristicMixed';
}

/** It may be told to commit, or to roll back. */
export function isUndecided(phase: BranchPhase): boolean {
  return phase === 'prepared' || phase === 'ready';
}

/** An operator has decided it, and that is on its way to the disk. */
export function isInHand(phase: BranchPhase): boolean {
  return phase === 'heuristicCommitting' || phase === 'heuristicRollingBack';
}

/** Decided, or about to be by what lies with the disk: its keys are let go soon, whatever others do. */
export function isUnderWay(phase: BranchPhase | undefined): boolean {
  return phase === 'committing' || phase === 'deciding';
}

/**
 * What a branch in that phase can tell others of the outcome. Of what an operator has decided over it nothing: that is no
 * decision over theirs.
 */
export function knownOf(phase: BranchPhase): 'committed' | 'undecided' {
  return phase === 'applied' ? 'committed' : 'undecided';
}

function hearCommit(phase: BranchPhase): BranchStep {
  switch (phase) {
    case 'prepared':
      return stay('committing', { kind: 'apply' });
    case 'ready':
      return stay('deciding', { kind: 'apply' });
    case 'applied':
    case 'heuristicMixed':
    case 'gone':
      // Said again: it has been done, and once is enough.
      return stay(phase, { kind: 'acknowledge' });
    case 'heuristicCommitted':
      return stay(phase, { kind: 'forceOutcome', state: 'applied' });
    case 'heuristicRolledBack':
      return stay(phase, { kind: 'forceOutcome', state: 'heuristicMixed' });
    case 'preparing':
    case 'deciding':
    case 'committing':
    case 'heuristicCommitting':
    case 'heuristicRollingBack':
    case 'rolledBack':
      return stay(phase);
  }
}

function hearRollback(phase: BranchPhase): BranchStep {
  switch (phase) {
    case 'preparing':
      // Its record may become durable yet; the vote is abort, and nobody will commit it.
      return stay('rolledBack', { kind: 'release' }, { kind: 'voteAbort' }, { kind: 'dropRecord' });
    case 'ready':
      // It has no record, and gets none.
      return stay('gone', { kind: 'release' });
    case 'prepared':
      return stay('rolledBack', { kind: 'dropRecord' }, { kind: 'release' });
    case 'heuristicCommitted':
      return stay('gone', { kind: 'reportMixed' }, { kind: 'dropRecord' });
    case 'heuristicRolledBack':
      return stay('gone', { kind: 'dropRecord' });
    case 'deciding':
    case 'committing':
    case 'applied':
    case 'rolledBack':
    case 'heuristicCommitting':
    case 'heuristicRollingBack':
    case 'heuristicMixed':
    case 'gone':
      return stay(phase);
  }
}

function hearOutcomeForced(phase: BranchPhase): BranchStep {
  if (phase === 'heuristicCommitted') return stay('applied', { kind: 'acknowledge' });
  return phase === 'heuristicRolledBack'
    ? stay('heuristicMixed', { kind: 'reportMixed' }, { kind: 'acknowledge' })
    : stay(phase, { kind: 'acknowledge' });
}

function applied(phase: BranchPhase): BranchStep {
  if (phase === 'committing' || phase === 'deciding')
    return stay('applied', { kind: 'release' }, { kind: 'acknowledge' });
  return phase === 'heuristicCommitting' ? stay('heuristicCommitted', { kind: 'release' }) : stay(phase);
}

/** It is carried out when it is told to once more; together with a decision it is not: nobody knows. */
function failed(phase: BranchPhase): BranchStep {
  return phase === 'committing' || phase === 'heuristicCommitting' ? stay('prepared') : stay(phase);
}

function hearOperator(decision: 'commit' | 'rollback'): BranchStep {
  if (decision === 'commit') return stay('heuristicCommitting', { kind: 'apply' });
  return stay('heuristicRollingBack', { kind: 'forceHeuristic', decision });
}

function hearForget(phase: BranchPhase): BranchStep {
  // Only who has nothing to write is told so before it has heard the outcome.
  if (phase === 'prepared') return stay('gone', { kind: 'release' }, { kind: 'dropRecord' });
  if (phase === 'ready') return stay('gone', { kind: 'release' });
  const forgettable = ['applied', 'heuristicCommitted', 'heuristicRolledBack', 'heuristicMixed'].includes(
    phase,
  );
  return forgettable ? stay('gone', { kind: 'dropRecord' }) : stay(phase);
}

export function describeBranchCommand(command: BranchCommand): string {
  if ('state' in command) return `${command.kind} ${command.state}`;
  return 'decision' in command ? `${command.kind} ${command.decision}` : command.kind;
}
