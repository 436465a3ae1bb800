/** A transaction under way at its coordinator, and what it comes to in words and records. */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import type { Timer } from '../../io/clock.ts';
import type { Coordination } from '../protocol/coordinator-protocol.ts';
import { unacknowledged, waitsFor } from '../protocol/coordinator-protocol.ts';
import type { Voted } from '../formats/prepare-request.ts';
import type { Knowledge, TransactionOutcome } from '../formats/outcomes.ts';
import type { DecisionRecord, LocalBranch } from '../formats/records.ts';
import type { PrepareRequest, ReportedState } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** One transaction under way. */
export interface Active {
  readonly xid: Xid;
  state: Coordination;
  readonly orders: ReadonlyMap<NodeId, PrepareRequest>;
  readonly operationCount: number;
  /** The decision itself makes the one copy durable that the client waits for: at DC_ONE, or where there is one only. */
  readonly answersEarly: boolean;
  readonly outcome: Deferred<TransactionOutcome>;
  readonly sinceMs: number;
  readonly startUs: number;
  phaseUs: number;
  /** What an aborting vote said. */
  detail: string;
  /** The client's own name was used before. */
  earlier: Voted['earlier'];
  /** The client's patience: half of it for the prepare. */
  timer: Timer | undefined;
  /** Branches that have acknowledged although their level was not met in time: hints and repairs bring it about. */
  readonly unmet: NodeId[];
  /** Branches that have no record of it, and whose orders are gone too; or whose nodes are no members any more. */
  readonly lost: NodeId[];
  /** What came with votes to commit (transactions/recovery/redo.ts). */
  readonly marks: Map<NodeId, string>;
}

/** `sinceMs` by the wall clock, `startUs` by the other one; one that a start has found has no orders any more. */
export function newActive(
  state: Coordination,
  orders: ReadonlyMap<NodeId, PrepareRequest>,
  answersEarly: boolean,
  operationCount: number,
  sinceMs: number,
  startUs: number,
): Active {
  return {
    xid: state.xid,
    state,
    orders,
    operationCount,
    answersEarly,
    outcome: new Deferred(),
    sinceMs,
    startUs,
    phaseUs: startUs,
    detail: '',
    earlier: undefined,
    timer: undefined,
    unmet: [],
    lost: [],
    marks: new Map(),
  };
}

/** Its client's id; undefined: it has none, or no orders any more. */
export function clientOf({ orders }: Active): Pick<PrepareRequest, 'clientId' | 'clientDigest'> | undefined {
  for (const order of orders.values()) return order.clientId === '' ? undefined : order;
  return undefined;
}

/** The order was made for an earlier life of the node, which has not said that it was carried out. */
export function isOpenAt({ orders, state }: Active, node: NodeId, life: number): boolean {
  const ordered = orders.get(node)?.branches.find((branch) => branch.node === node);
  if (ordered === undefined || ordered.life >= life) return false;
  // Who has nothing to write holds nothing from the decision on.
  return state.phase === 'committing'
    ? waitsFor(state, node)
    : !state.branches.some((branch) => branch.node === node && branch.acknowledged);
}

/** Branches of a decided transaction that nobody can carry out any more: their disks, or their nodes, are gone. */
export function lostBranches({ state, lost }: Active): readonly NodeId[] {
  return state.phase === 'committing' ? unacknowledged(state).filter((node) => lost.includes(node)) : [];
}

/** Those of them that an operator may abandon. Throws `Conflict` while another branch may ask yet for the outcome. */
export function abandonable(active: Active): readonly NodeId[] {
  const lost = lostBranches(active);
  const waiting = unacknowledged(active.state).filter((node) => !lost.includes(node));
  if (active.state.phase === 'committing' && waiting.length === 0) return lost;
  const why = active.state.phase === 'committing' ? `waits for ${waiting.join(', ')}` : 'is not decided';
  throw new LockstepError('Conflict', `the transaction ${why}; only lost branches can be abandoned`);
}

/** The record of its decision; `own`: what is written here with it. */
export function decisionOf(
  { state, sinceMs, operationCount }: Active,
  to: DecisionRecord['state'],
  own: LocalBranch | undefined,
): DecisionRecord {
  const branches = state.branches.map(({ node, vote }) => ({ node, readOnly: vote === 'readOnly' }));
  return { state: to, sinceMs, operationCount, branches, own };
}

export function committedOf({
  xid,
  state,
  operationCount,
  unmet,
}: Active): Extract<TransactionOutcome, { kind: 'committed' }> {
  return {
    kind: 'committed',
    xid,
    operationCount,
    branches: state.branches.map(({ node, vote, acknowledged }) => ({
      node,
      vote: vote === 'readOnly' ? 'read_only' : 'commit',
      pending: vote === 'commit' && (!acknowledged || unmet.includes(node)),
    })),
  };
}

/** The same of a record that a start has found: who was left out of it is not known any more. */
export function endedOf(
  xid: Xid,
  { operationCount, branches }: DecisionRecord,
): Extract<TransactionOutcome, { kind: 'committed' }> {
  const votes = branches.map(({ node, readOnly }) => ({
    node,
    vote: readOnly ? ('read_only' as const) : ('commit' as const),
    pending: false,
  }));
  return { kind: 'committed', xid, operationCount, branches: votes };
}

export function nameOf(outcome: TransactionOutcome): string {
  return outcome.kind === 'inDoubt' ? 'in_doubt' : outcome.kind;
}

/** What became of a decision that was to be forced. */
export function fateOf(
  error: LockstepError | undefined,
): 'decisionForced' | 'decisionRefused' | 'decisionDoubted' {
  if (error === undefined) return 'decisionForced';
  return error.definite ? 'decisionRefused' : 'decisionDoubted';
}

/** What another node's word comes to for who asks by name. */
export function knowledgeOf(xid: Xid, state: ReportedState): Knowledge | undefined {
  switch (state) {
    case 'committed':
      return { kind: 'committed', xid, branches: [] };
    case 'aborted':
      return { kind: 'aborted', xid, reason: 'prepare_failed', detail: '' };
    case 'undecided':
    case 'forgotten':
      return { kind: 'inDoubt', xid };
    case 'none':
      return undefined;
  }
}
