/**
 * Heuristic decisions: what an operator decides over a prepared branch of this node, how long the decision is kept, and
 * how it is reported. The protocol (protocol/branch-protocol.ts) records the decision and compares it with the
 * coordinator's: `operatorDecided`, `outcomeForced`, `operatorForgot`.
 */
import { present } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Branch } from './branch.ts';
import type { BranchEvent } from '../protocol/branch-protocol.ts';
import { isHeuristicPending } from '../protocol/branch-protocol.ts';
import type { TransactionContext } from '../context.ts';

/**
 * Decides a prepared branch for an operator. Resolves once the decision is durable and, for a commit, once its round
 * is over. False if the branch is not prepared. Throws the error that kept the decision from the disk; the branch is
 * prepared as before then.
 */
export async function decideHeuristically(
  { io }: TransactionContext,
  branch: Branch | undefined,
  decision: 'commit' | 'rollback',
  post: (branch: Branch, event: BranchEvent) => void,
): Promise<boolean> {
  if (branch?.phase !== 'prepared') return false;
  const { xid } = branch;
  io.log.event('info', 'xa.branch.resolving', { xid, decision });
  post(branch, { kind: 'operatorDecided', decision });
  const done = await present(branch.applying, 'the decision of an operator on its way to the disk');
  if (!(done instanceof LockstepError)) return true;
  io.log.event('warn', 'xa.branch.unresolved', { xid, decision, detail: done.message });
  throw done;
}

/**
 * Whether an operator may drop a heuristic decision that was never compared. True once its coordinator has left, was
 * replaced or has lost its disk: then no node will ever tell what the coordinator decided. False if the branch has no
 * heuristic decision. Throws `Conflict` while the coordinator is a member.
 */
export function mayBeForgotten(
  { lives, io }: TransactionContext,
  branch: Branch | undefined,
): branch is Branch {
  if (branch === undefined || !isHeuristicPending(branch.phase)) return false;
  const { xid, phase, order, orphan } = branch;
  const { coordinator } = order;
  if (!orphan && !lives.isOver(coordinator)) {
    const detail = `${coordinator} coordinates the transaction and is a member: what was decided here is kept until that has said what it decided`;
    throw new LockstepError('Conflict', detail);
  }
  io.log.event('warn', 'xa.branch.forgotten', { xid, here: phase, coordinator });
  return true;
}

/** Counts and logs an operator's decision that is durable. */
export function reportDecision(
  { io, metrics }: Pick<TransactionContext, 'io' | 'metrics'>,
  { xid }: Branch,
  decision: 'commit' | 'rollback',
): void {
  metrics.decidedByOperator(decision);
  io.log.event('warn', 'xa.branch.decided', { xid, decision });
}

/** Counts and logs that the coordinator's `decision` differs from the operator's. */
export function reportMixed(
  { io, metrics }: Pick<TransactionContext, 'io' | 'metrics'>,
  { xid, phase }: Branch,
  decision: 'commit' | 'rollback',
): void {
  metrics.decidedByOperator('mixed');
  io.log.event('error', 'xa.branch.mixed', { xid, here: phase, decision });
}
