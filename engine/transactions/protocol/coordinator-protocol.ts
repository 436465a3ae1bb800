/**
 * The coordinator of one transaction as a pure state machine: events in, commands out, both printable. The protocol
 * is presumed abort of R* (Mohan, Lindsay, Obermarck, "Transaction Management in the R* Distributed Database
 * Management System", 1986) with the votes of X/Open XA (C193, 1991: XA_OK, XA_RDONLY, XA_RB*).
 * `coordinator/coordinator.ts` feeds it and performs every command.
 *
 *     record      written by   forced                         why
 *     prepare     branch       before it votes commit         the branch may have to ask for the outcome for ever
 *     prepare     branch       before it votes read-only      its conditions must hold until the outcome: it keeps its
 *                                                             locks, is left out of the decision, and hears forget
 *                                                             once the decision is made
 *     decision    coordinator  before it sends a commit       names the branches that the commit is repeated to
 *     applied     branch       with its writes, before it     the coordinator need not ask the branch again
 *                              acknowledges
 *     (none)      own branch   with the decision, one batch   the branch at the coordinator's node has no records: no
 *                                                             other node gets its vote, the decision names its keys,
 *                                                             and a crash leaves both or neither
 *     abort       nobody       never                          no record means abort
 *     end         coordinator  never                          written after every branch has acknowledged; once it is
 *                                                             durable all the same, the branches may forget
 *
 * Invariants:
 * - A decision is made once. Once the disk has taken it, no event leads to an abort.
 * - After `aborted` no event leads to a commit. A branch that votes commit then is rolled back.
 * - A branch that has no record when the commit comes has lost it with its disk. The coordinator sends it its prepare
 *   request once more (recovery/redo.ts), and the branch acknowledges only once it has applied that.
 */
import type { NodeId } from '../../base/ids.ts';
import type { AbortReason } from '../formats/outcomes.ts';
import type { Xid } from '../formats/xid.ts';

/** What a branch promises. `readOnly`: it writes nothing, and needs no commit. */
export type Vote = 'commit' | 'readOnly' | 'abort';

/**
 * `deciding`: the decision is on its way to the disk. `doubted`: the decision may or may not be durable, and only a
 * restart can tell. `ended`: every branch has acknowledged.
 */
export type CoordinatorPhase = 'preparing' | 'deciding' | 'doubted' | 'committing' | 'ended' | 'aborted';

/** A branch as its coordinator knows it. `vote` undefined: not heard yet. */
export interface CoordinatedBranch {
  readonly node: NodeId;
  readonly vote: Vote | undefined;
  readonly acknowledged: boolean;
}

/** The state of one transaction at its coordinator. */
export interface Coordination {
  readonly xid: Xid;
  readonly phase: CoordinatorPhase;
  /** The client wants the transaction aborted, whatever the votes. */
  readonly forceAbort: boolean;
  /** At least one, one a node. */
  readonly branches: readonly CoordinatedBranch[];
  /** Why the transaction was aborted; undefined unless it was. */
  readonly reason: AbortReason | undefined;
}

/** What happens to a transaction at its coordinator. */
export type CoordinatorEvent =
  /** The transaction begins. */
  | { readonly kind: 'begun' }
  /** `reason`: of an abort. */
  | { readonly kind: 'voted'; readonly node: NodeId; readonly vote: Vote; readonly reason?: AbortReason }
  /** The branch could not be asked, or did not answer in time. */
  | { readonly kind: 'silent'; readonly node: NodeId; readonly reason: AbortReason }
  /** The decision is durable. */
  | { readonly kind: 'decisionForced' }
  /** The disk has not taken the decision, and never will. */
  | { readonly kind: 'decisionRefused' }
  /** The write of the decision has failed; the disk may hold it all the same. */
  | { readonly kind: 'decisionDoubted' }
  /** The branch has applied its writes. */
  | { readonly kind: 'acknowledged'; readonly node: NodeId }
  /** An operator gives up a lost branch: it will never acknowledge. */
  | { readonly kind: 'abandoned'; readonly node: NodeId }
  /** It is time to repeat the commit to the branches that have not acknowledged; also after a restart. */
  | { readonly kind: 'reminded' };

/** What the driver does for a transaction. */
export type CoordinatorCommand =
  | { readonly kind: 'sendPrepare'; readonly node: NodeId }
  /** Force the decision to commit, which names these nodes; then post what became of it. */
  | { readonly kind: 'forceDecision'; readonly nodes: readonly NodeId[] }
  | { readonly kind: 'sendCommit'; readonly node: NodeId }
  | { readonly kind: 'sendRollback'; readonly node: NodeId }
  /** To a branch that voted read-only: it may release its locks. Not repeated: a branch that misses it asks. */
  | { readonly kind: 'sendForget'; readonly node: NodeId }
  /** The outcome is certain: the client may hear it. */
  | { readonly kind: 'conclude'; readonly outcome: 'committed' | 'aborted' }
  /** Every branch has acknowledged: none of them needs the decision any more. */
  | { readonly kind: 'end' };

/** A step of the protocol: the state that follows, and the commands, to be performed in this order. */
export interface CoordinatorStep {
  readonly state: Coordination;
  readonly commands: readonly CoordinatorCommand[];
}

/** A transaction before its `begun`; `nodes`: the primaries of its keys. */
export function newCoordination(xid: Xid, nodes: readonly NodeId[], forceAbort: boolean): Coordination {
  const branches = nodes.map((node) => ({ node, vote: undefined, acknowledged: false }));
  return { xid, phase: 'preparing', forceAbort, branches, reason: undefined };
}

/** A transaction that a start finds decided; `nodes`: those that its decision names. */
export function recoveredCoordination(xid: Xid, nodes: readonly NodeId[]): Coordination {
  const branches = nodes.map((node) => ({ node, vote: 'commit' as const, acknowledged: false }));
  return { xid, phase: 'committing', forceAbort: false, branches, reason: undefined };
}

/** The step that `event` brings about. An event that does not fit the phase changes and commands nothing. */
export function stepCoordination(state: Coordination, event: CoordinatorEvent): CoordinatorStep {
  switch (event.kind) {
    case 'begun':
      return { state, commands: state.branches.map(({ node }) => ({ kind: 'sendPrepare', node })) };
    case 'voted':
      return hearVote(state, event.node, event.vote, event.reason ?? 'prepare_failed');
    case 'silent':
      // The silent branch may have voted: it, too, is rolled back.
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

/** The phases that may follow each phase, besides itself: a decision is made once, and no outcome changes. */
const nextPhases: Readonly<Record<CoordinatorPhase, readonly CoordinatorPhase[]>> = {
  preparing: ['deciding', 'ended', 'aborted'],
  deciding: ['committing', 'doubted', 'aborted'],
  doubted: [],
  committing: ['ended'],
  ended: [],
  aborted: [],
};

/**
 * What a step broke; undefined if nothing. A vote, an acknowledgement and an outcome never change; a transaction that
 * commits has every vote, and none to abort; exactly an aborted one has a reason.
 */
export function brokenBy(before: Coordination, after: Coordination): string | undefined {
  const { phase } = after;
  if (phase !== before.phase && !nextPhases[before.phase].includes(phase))
    return `${before.phase} does not become ${phase}`;
  if ((after.reason !== undefined) !== (phase === 'aborted')) return `${phase} has reason ${after.reason}`;
  if (after.branches.length !== before.branches.length) return 'a branch is lost';
  const commits = phase !== 'preparing' && phase !== 'aborted';
  for (let index = 0; index < after.branches.length; index++) {
    const [was, is] = [before.branches[index], after.branches[index]];
    if (was === undefined || is?.node !== was.node) return 'a branch is replaced';
    if (was.vote !== undefined && is.vote !== was.vote) return `the vote of ${is.node} changes`;
    if (was.acknowledged && !is.acknowledged) return `${is.node} takes its acknowledgement back`;
    if (commits && (is.vote === undefined || is.vote === 'abort'))
      return `${phase} without the vote of ${is.node}`;
    if (phase === 'ended' && isUnacknowledged(is)) return `it ends before ${is.node} has acknowledged`;
  }
  return undefined;
}

/** The nodes whose branches voted commit: those that the decision names. */
export function committers(state: Coordination): readonly NodeId[] {
  return state.branches.filter(({ vote }) => vote === 'commit').map(({ node }) => node);
}

/** The answer to a branch that asks for the outcome. Nothing is certain before the decision is durable. */
export function answerToBranch(state: Coordination): 'committed' | 'aborted' | 'undecided' {
  if (state.phase === 'committing' || state.phase === 'ended') return 'committed';
  return state.phase === 'aborted' ? 'aborted' : 'undecided';
}

/** Whether the commit is decided and the node has not acknowledged it. */
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
    // A late vote never changes the outcome. Its branch waits for the outcome, so it hears it again.
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
  // Every branch voted read-only: there is nothing to write, and no decision to record.
  const commands: CoordinatorCommand[] = [{ kind: 'conclude', outcome: 'committed' }, ...forgets(state)];
  return { state: { ...state, phase: 'ended' }, commands };
}

function beginCommit(state: Coordination): CoordinatorStep {
  const commands: CoordinatorCommand[] = committers(state).map((node) => ({ kind: 'sendCommit', node }));
  commands.push(...forgets(state), { kind: 'conclude', outcome: 'committed' });
  return { state: moved(state, 'committing'), commands };
}

/** The branches that voted read-only may release their locks: all keys are locked, and the outcome is certain. */
function forgets(state: Coordination): readonly CoordinatorCommand[] {
  return state.branches
    .filter(({ vote }) => vote === 'readOnly')
    .map(({ node }) => ({ kind: 'sendForget' as const, node }));
}

/** The command that ends a branch of an aborted transaction. */
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

/** The nodes whose branches have voted commit and have not acknowledged. */
export function unacknowledged(state: Coordination): readonly NodeId[] {
  return state.branches.filter(isUnacknowledged).map(({ node }) => node);
}

function isUnacknowledged({ vote, acknowledged }: CoordinatedBranch): boolean {
  return vote === 'commit' && !acknowledged;
}

/**
 * The state with another phase or other branches. Copied field by field: objects of one shape are fast, and there are
 * several for every transaction.
 */
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

/** `sendPrepare n2`, `forceDecision n1 n2`: for people and goldens. */
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
