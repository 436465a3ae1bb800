/** A transaction under way at its coordinator, and what it comes to in words and records. */
import { Deferred } from '../base/deferred.ts';
import type { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import type { Timer } from '../io/clock.ts';
import type { Coordination } from './coordinator-protocol.ts';
import { unacknowledged } from './coordinator-protocol.ts';
import type { Voted } from './orders.ts';
import type { TransactionOutcome } from './outcomes.ts';
import type { DecisionRecord, OwnBranch } from './records.ts';
import type { BranchOrder } from './words.ts';
import type { Xid } from './xid.ts';

/** One transaction under way. */
export interface Active {
  readonly xid: Xid;
  state: Coordination;
  readonly orders: ReadonlyMap<NodeId, BranchOrder>;
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
  /** What came with votes to commit (redo.ts). */
  readonly marks: Map<NodeId, string>;
}

/** `sinceMs` by the wall clock, `startUs` by the other one; one that a start has found has no orders any more. */
export function newActive(
  state: Coordination,
  orders: ReadonlyMap<NodeId, BranchOrder>,
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

/** Branches of a decided transaction that nobody can carry out any more: their disks, or their nodes, are gone. */
export function lostBranches({ state, lost }: Active): readonly NodeId[] {
  return state.phase === 'committing' ? unacknowledged(state).filter((node) => lost.includes(node)) : [];
}

/** The record of its decision; `own`: what is written here with it. */
export function decisionOf(
  { state, sinceMs, operationCount }: Active,
  to: DecisionRecord['state'],
  own: OwnBranch | undefined,
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
