/**
 * What an operator decides over a branch of this node, how that is compared with what the coordinator has decided, and how
 * that is given up (transactions/protocol/branch-protocol.ts: `operatorDecided`, `outcomeForced`, `operatorForgot`).
 */
import { LockstepError } from '../../base/errors.ts';
import type { Branch } from './branch.ts';
import { advance, recordOf } from './branch.ts';
import type { BranchCommand } from '../protocol/branch-protocol.ts';
import { isHeuristicPending } from '../protocol/branch-protocol.ts';
import type { TransactionContext } from '../context.ts';

/** What the owner of the branch does for it. */
export interface BranchActions {
  /** Carries it out; `durable` is called at once when that is on the disk. */
  apply(branch: Branch, durable: () => void): Promise<boolean | LockstepError>;
  release(branch: Branch): void;
}

/**
 * An operator's decision over a prepared branch, said and counted once it is on the disk. False: it is not prepared.
 * Throws what has kept it from the disk; then the branch is prepared as before.
 */
export async function decideHeuristically(
  context: TransactionContext,
  branch: Branch | undefined,
  decision: 'commit' | 'rollback',
  hands: BranchActions,
): Promise<boolean> {
  if (branch?.phase !== 'prepared') return false;
  const { io, metrics } = context;
  const { xid } = branch;
  const { commands } = advance(branch, { kind: 'operatorDecided', decision });
  io.log.event('info', 'xa.branch.resolving', { xid, decision });
  const durable = (): void => {
    metrics.decidedByOperator(decision);
    io.log.event('warn', 'xa.branch.decided', { xid, decision });
  };
  const applies = commands.some(({ kind }) => kind === 'apply');
  branch.applying = applies ? hands.apply(branch, durable) : rollBack(context, branch, durable, hands);
  const done = await branch.applying;
  if (!(done instanceof LockstepError)) return true;
  io.log.event('warn', 'xa.branch.unresolved', { xid, decision, detail: done.message });
  throw done;
}

async function rollBack(
  { log }: TransactionContext,
  branch: Branch,
  durable: () => void,
  hands: BranchActions,
): Promise<true | LockstepError> {
  const error = await log.force([recordOf(branch, 'heuristicRolledBack')]);
  if (error === undefined) durable();
  const { commands } = advance(branch, { kind: error === undefined ? 'heuristicForced' : 'heuristicFailed' });
  if (commands.some(({ kind }) => kind === 'release')) hands.release(branch);
  return error ?? true;
}

/**
 * An operator's decision over the branch may be forgotten, uncompared: its coordinator has left, was replaced, or has lost
 * its disk, and nobody will ever say what that had decided. Throws `Conflict` while it is a member. False: nobody has
 * decided by hand.
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

/** The coordinator has committed what an operator has decided: that is on the disk before it is acknowledged. */
export async function noteOutcome(
  context: TransactionContext,
  branch: Branch,
  { state }: Extract<BranchCommand, { readonly kind: 'forceOutcome' }>,
): Promise<LockstepError | undefined> {
  const error = await context.log.force([recordOf(branch, state)]);
  if (error !== undefined) return error;
  const { commands } = advance(branch, { kind: 'outcomeForced' });
  if (commands.some(({ kind }) => kind === 'reportMixed')) reportMixed(context, branch, 'commit');
  return undefined;
}

/** An operator's decision and the coordinator's differ. */
export function reportMixed(
  { io, metrics }: TransactionContext,
  { xid, phase }: Branch,
  decision: 'commit' | 'rollback',
): void {
  metrics.decidedByOperator('mixed');
  io.log.event('error', 'xa.branch.mixed', { xid, here: phase, decision });
}
