/**
 * The coordinator of one transaction as a pure state machine: events in, commands out, both printable. Presumed abort
 * of R* (Mohan, Lindsay, Obermarck, "Transaction Management in the R* Distributed Database Management System", 1986)
 * with the votes of X/Open XA (C193, 1991: XA_OK, XA_RDONLY, XA_RB*).
 *
 *     record      written by       forced                             why
 *     prepare     branch           before it votes commit             it may be asked for the outcome for ever
 *     decision    coordinator      before the first commit is sent    names the branches to commit again and again
 *     applied     branch           with its writes, before it acks    the coordinator forgets whom it need not ask
 *     (its own)   coordinator      with the decision, one batch       its own branch has no record, neither a prepare
 *                                                                     record, since nobody else hears that vote, nor an
 *                                                                     applied one: the decision names its keys, and a
 *                                                                     crash leaves it and what it does here, or neither
 *     abort       nobody           never                              no record means abort
 *     end         coordinator      never                              only after every branch has acknowledged; once it
 *                                                                     is durable all the same, the branches may forget
 *     (read-only) branch           a prepare record like the others', since its conditions hold until the outcome: it keeps
 *                                  its keys, is left out of the decision, and is told to forget once that is made
 *
 * Invariants: a decision is made once; once the disk has taken it no event leads to an abort; after `aborted` none leads to a
 * commit, and whoever votes commit then is told to roll back. A branch that is told to commit and has no record has lost
 * it with its disk: it is given its order once more, and acknowledges nothing before it has carried that out.
 */
import type { NodeId } from '../../base/ids.ts';
import type { AbortReason } from '../formats/outcomes.ts';
import type { Xid } from '../formats/xid.ts';

export type Vote = 'commit' | 'readOnly' | 'abort';

/** `doubted`: the decision may or may not be on the disk; only a restart can tell. */
export type CoordinatorPhase = 'preparing' | 'deciding' | 'doubted' | 'committing' | 'ended' | 'aborted';

export interface CoordinatedBranch {
  readonly node: NodeId;
  readonly vote: Vote | undefined;
  readonly acknowledged: boolean;
}

export interface Coordination {
  readonly xid: Xid;
  readonly phase: CoordinatorPhase;
  readonly forceAbort: boolean;
  readonly branches: readonly CoordinatedBranch[];
  /** Why it was aborted. */
  readonly reason: AbortReason | undefined;
}

export type CoordinatorEvent =
  | { readonly kind: 'begun' }
  | { readonly kind: 'voted'; readonly node: NodeId; readonly vote: Vote; readonly reason?: AbortReason }
  /** No vote will be heard of this branch: it could not be asked, or did not answer in time. */
  | { readonly kind: 'silent'; readonly node: NodeId; readonly reason: AbortReason }
  | { readonly kind: 'decisionForced' }
  /** It was not taken: it is certainly not on the disk, and never will be. */
  | { readonly kind: 'decisionRefused' }
  | { readonly kind: 'decisionDoubted' }
  | { readonly kind: 'acknowledged'; readonly node: NodeId }
  /** An operator says that this branch, which is lost, will never acknowledge. */
  | { readonly kind: 'abandoned'; readonly node: NodeId }
  /** Time to send the commit again to whom it has not reached; also after a restart. */
  | { readonly kind: 'reminded' };

export type CoordinatorCommand =
  | { readonly kind: 'sendPrepare'; readonly node: NodeId }
  | { readonly kind: 'forceDecision'; readonly nodes: readonly NodeId[] }
  | { readonly kind: 'sendCommit'; readonly node: NodeId }
  | { readonly kind: 'sendRollback'; readonly node: NodeId }
  /** To who has nothing to write: it may let its keys go. Not sent again: who has not heard it asks. */
  | { readonly kind: 'sendForget'; readonly node: NodeId }
  /** The outcome is certain: the client may be told. */
  | { readonly kind: 'conclude'; readonly outcome: 'committed' | 'aborted' }
  /** Every branch has acknowledged: the decision need not be remembered for them. */
  | { readonly kind: 'end' };

export interface CoordinatorStep {
  readonly state: Coordination;
  readonly commands: readonly CoordinatorCommand[];
}

export function newCoordination(xid: Xid, nodes: readonly NodeId[], forceAbort: boolean): Coordination {
  const branches = nodes.map((node) => ({ node, vote: undefined, acknowledged: false }));
  return { xid, phase: 'preparing', forceAbort, branches, reason: undefined };
}

/** What a decision record says after a restart. */
export function recoveredCoordination(xid: Xid, nodes: readonly NodeId[]): Coordination {
  const branches = nodes.map((node) => ({ node, vote: 'commit' as const, acknowledged: false }));
  return { xid, phase: 'committing', forceAbort: false, branches, reason: undefined };
}

export function stepCoordination(state: Coordination, event: CoordinatorEvent): CoordinatorStep {
  switch (event.kind) {
    case 'begun':
      return { state, commands: state.branches.map(({ node }) => ({ kind: 'sendPrepare', node })) };
    case 'voted':
      return hearVote(state, event.node, event.vote, event.reason ?? 'prepare_failed');
    case 'silent':
      // Whoever is silent may have voted: it is told.
      return state.phase === 'preparing' ? abort(state, event.reason) : unmoved(state);
    case 'decisionForced':
      return state.phase === 'deciding' ? beginCommit(state) : unmoved(state);
    case 'decisionRefused':
      return state.phase === 'deciding' ? abort(state, 'prepare_failed') : unmoved(state);
    case 'decisionDoubted':
      return state.phase === 'deciding'
        ? { state: { ...state, phase: 'doubted' }, commands: [] }
        : unmoved(state);
    case 'acknowledged':
    case 'abandoned':
      return hearAcknowledgement(state, event.node);
    case 'reminded':
      return state.phase === 'committing'
        ? { state, commands: unacknowledged(state).map((node) => ({ kind: 'sendCommit', node })) }
        : unmoved(state);
  }
}

/** The branches that voted commit: those that the decision names. */
export function committers(state: Coordination): readonly NodeId[] {
  return state.branches.filter(({ vote }) => vote === 'commit').map(({ node }) => node);
}

/** What a branch that asks is told: nothing is certain before the decision is on the disk. */
export function answerToBranch(state: Coordination): 'committed' | 'aborted' | 'undecided' {
  if (state.phase === 'committing' || state.phase === 'ended') return 'committed';
  return state.phase === 'aborted' ? 'aborted' : 'undecided';
}

/** The commit is decided, and the node has not acknowledged it. */
export function waitsFor(state: Coordination, node: NodeId): boolean {
  return (
    state.phase === 'committing' && state.branches.some((one) => one.node === node && isUnacknowledged(one))
  );
}

/** `preparing n1:commit n2:? n3:readOnly` */
export function describeCoordination({ phase, branches }: Coordination): string {
  const words = branches.map(
    ({ node, vote, acknowledged }) => `${node}:${vote ?? '?'}${acknowledged ? '+ack' : ''}`,
  );
  return [phase, ...words].join(' ');
}

function hearVote(state: Coordination, node: NodeId, vote: Vote, reason: AbortReason): CoordinatorStep {
  if (state.phase === 'aborted') {
    // A late vote never turns the outcome; its branch must not wait for an answer that was given already.
    return { state, commands: vote === 'abort' ? [] : [undoing(node, vote)] };
  }
  const branch = state.branches.find((one) => one.node === node);
  if (state.phase !== 'preparing' || branch?.vote !== undefined || branch === undefined)
    return unmoved(state);
  const branches = state.branches.map((one) =>
    one.node === node ? { node, vote, acknowledged: one.acknowledged } : one,
  );
  const heard = moved(state, state.phase, branches);
  if (vote === 'abort') return abort(heard, reason);
  if (branches.some((one) => one.vote === undefined)) return unmoved(heard);
  return heard.forceAbort ? abort(heard, 'force_abort') : decide(heard);
}

function decide(state: Coordination): CoordinatorStep {
  const nodes = committers(state);
  if (nodes.length > 0) {
    return { state: moved(state, 'deciding'), commands: [{ kind: 'forceDecision', nodes }] };
  }
  // All have voted read-only: nothing is to be written, not here either.
  const commands: CoordinatorCommand[] = [{ kind: 'conclude', outcome: 'committed' }, ...forgets(state)];
  return { state: { ...state, phase: 'ended' }, commands };
}

function beginCommit(state: Coordination): CoordinatorStep {
  const commands: CoordinatorCommand[] = committers(state).map((node) => ({ kind: 'sendCommit', node }));
  commands.push(...forgets(state), { kind: 'conclude', outcome: 'committed' });
  return { state: moved(state, 'committing'), commands };
}

/** Read-only voters need not wait any more: everybody's keys are locked, and the outcome is certain. */
function forgets(state: Coordination): readonly CoordinatorCommand[] {
  return state.branches
    .filter(({ vote }) => vote === 'readOnly')
    .map(({ node }) => ({ kind: 'sendForget' as const, node }));
}

/** What ends the branch of an aborted transaction. */
function undoing(node: NodeId, vote: Vote | undefined): CoordinatorCommand {
  return { kind: vote === 'readOnly' ? 'sendForget' : 'sendRollback', node };
}

function abort(state: Coordination, because: AbortReason): CoordinatorStep {
  const reason = state.forceAbort ? 'force_abort' : because;
  const told = state.branches.filter(({ vote }) => vote !== 'abort');
  return {
    state: { ...state, phase: 'aborted', reason },
    commands: [
      ...told.map(({ node, vote }) => undoing(node, vote)),
      { kind: 'conclude', outcome: 'aborted' },
    ],
  };
}

function hearAcknowledgement(state: Coordination, node: NodeId): CoordinatorStep {
  if (state.phase !== 'committing') return unmoved(state);
  const branches = state.branches.map((one) =>
    one.node === node ? { node, vote: one.vote, acknowledged: true } : one,
  );
  if (branches.some(isUnacknowledged)) return unmoved(moved(state, state.phase, branches));
  return { state: moved(state, 'ended', branches), commands: [{ kind: 'end' }] };
}

/** Branches that have voted commit and have not acknowledged. */
export function unacknowledged(state: Coordination): readonly NodeId[] {
  return state.branches.filter(isUnacknowledged).map(({ node }) => node);
}

function isUnacknowledged({ vote, acknowledged }: CoordinatedBranch): boolean {
  return vote === 'commit' && !acknowledged;
}

/** Field by field: states of one shape are read and copied at once, and there are several for every transaction. */
function moved(
  { xid, phase: before, forceAbort, branches: same, reason }: Coordination,
  phase: CoordinatorPhase = before,
  branches: Coordination['branches'] = same,
): Coordination {
  return { xid, phase, forceAbort, branches, reason };
}

function unmoved(state: Coordination): CoordinatorStep {
  return { state, commands: [] };
}

/** `sendPrepare n2`, `forceDecision n1 n2`, for people and goldens. */
export function describeCommand(command: CoordinatorCommand): string {
  switch (command.kind) {
    case 'forceDecision':
      return `forceDecision ${command.nodes.join(' ')}`;
    case 'conclude':
      return `conclude ${command.outcome}`;
    case 'end':
      return 'end';
    case 'sendPrepare':
    case 'sendCommit':
    case 'sendRollback':
    case 'sendForget':
      return `${command.kind} ${command.node}`;
  }
}
