/** The state of one transaction under way at its coordinator, and the outcomes and records derived from it. */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import type { OpenSpan } from '../../base/request-trace.ts';
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
  /**
   * True if the durable decision is already the copy that the level requires: at DC_ONE, or where each key has one
   * copy. The coordinator then answers before any branch has acknowledged.
   */
  readonly answersEarly: boolean;
  readonly outcome: Deferred<TransactionOutcome>;
  readonly sinceMs: number;
  readonly startUs: number;
  phaseUs: number;
  /** Where the client's request notes how long its steps take. */
  times: RequestTimes | undefined;
  /** The span of the dispatch; undefined if the client's request is not traced. */
  span: OpenSpan | undefined;
  /** The detail of an aborting vote, for people. */
  detail: string;
  /** Set if the idempotency key was used before: the earlier transaction and its state. */
  earlier: Voted['earlier'];
  /** Ends the client's wait. The first half of the timeout is for the prepare. */
  timer: Timer | undefined;
  /**
   * Branches that have acknowledged although their level was not met in time. Hints and repairs bring the writes to the
   * other replicas.
   */
  readonly unmet: NodeId[];
  /**
   * Branches that cannot be completed: their record and their prepare request are gone, or their node is no longer a
   * member.
   */
  readonly lost: NodeId[];
  /** The marks of votes to commit (transactions/recovery/redo.ts). */
  readonly marks: Map<NodeId, string>;
}

/**
 * The state of a new or recovered transaction. `sinceMs`: wall clock. `startUs`: monotonic clock. `orders` is empty for
 * a recovered one.
 */
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
    times: undefined,
    span: undefined,
    detail: '',
    earlier: undefined,
    timer: undefined,
    unmet: [],
    lost: [],
    marks: new Map(),
  };
}

/**
 * The idempotency key and its digest. Undefined if the transaction has none, or was recovered without its prepare
 * requests.
 */
export function clientOf({ orders }: Active): Pick<PrepareRequest, 'clientId' | 'clientDigest'> | undefined {
  for (const order of orders.values()) return order.clientId === '' ? undefined : order;
  return undefined;
}

/**
 * True if the prepare request went to an incarnation of the node before `life`, and the node has not acknowledged the
 * branch.
 */
export function isOpenAt({ orders, state }: Active, node: NodeId, life: number): boolean {
  const ordered = orders.get(node)?.branches.find((branch) => branch.node === node);
  if (ordered === undefined || ordered.life >= life) return false;
  // A read-only branch holds nothing once the transaction is decided.
  return state.phase === 'committing'
    ? waitsFor(state, node)
    : !state.branches.some((branch) => branch.node === node && branch.acknowledged);
}

/** Branches of a committed transaction that no node can complete any more: their disks or their nodes are gone. */
export function lostBranches({ state, lost }: Active): readonly NodeId[] {
  return state.phase === 'committing' ? unacknowledged(state).filter((node) => lost.includes(node)) : [];
}

/**
 * The lost branches that an operator may abandon. Throws `Conflict` if the transaction is undecided, or if another
 * branch may still ask for the outcome.
 */
export function abandonable(active: Active): readonly NodeId[] {
  const lost = lostBranches(active);
  const waiting = unacknowledged(active.state).filter((node) => !lost.includes(node));
  if (active.state.phase === 'committing' && waiting.length === 0) return lost;
  const why = active.state.phase === 'committing' ? `waits for ${waiting.join(', ')}` : 'is not decided';
  throw new LockstepError('Conflict', `the transaction ${why}; only lost branches can be abandoned`);
}

/** The decision record of the transaction. `own`: the writes of the coordinator's own branch in the same batch. */
export function decisionOf(
  { state, sinceMs, operationCount }: Active,
  to: DecisionRecord['state'],
  own: LocalBranch | undefined,
): DecisionRecord {
  const branches = state.branches.map(({ node, vote }) => ({ node, readOnly: vote === 'readOnly' }));
  return { state: to, sinceMs, operationCount, branches, own };
}

/** The committed outcome as of now. A branch is `pending` until it has acknowledged with its level met. */
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

/** The committed outcome of a record that a start has found. The record does not say which branches were abandoned. */
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

/** The outcome's name in metrics. */
export function nameOf(outcome: TransactionOutcome): string {
  return outcome.kind === 'inDoubt' ? 'in_doubt' : outcome.kind;
}

/** The protocol event for a forced decision: written, certainly not written, or unknown. */
export function fateOf(
  error: LockstepError | undefined,
): 'decisionForced' | 'decisionRefused' | 'decisionDoubted' {
  if (error === undefined) return 'decisionForced';
  return error.definite ? 'decisionRefused' : 'decisionDoubted';
}

/** What another node's answer means for a client that asks by id. Undefined if that node has no record. */
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
