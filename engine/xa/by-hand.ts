/**
 * What an operator decides over a branch of this node, and how that is compared with what the coordinator has decided
 * (branch-protocol.ts: `operatorDecided`, `outcomeForced`).
 */
import { LockstepError } from '../base/errors.ts';
import type { Branch } from './branch.ts';
import { advance, recordOf } from './branch.ts';
import type { BranchCommand } from './branch-protocol.ts';
import type { TransactionContext } from './context.ts';

/** What the owner of the branch does for it. */
export interface Hands {
  apply(branch: Branch, state: 'heuristicCommitted'): Promise<boolean | LockstepError>;
  release(branch: Branch): void;
}

/** An operator's decision over a prepared branch. False: it is not prepared. */
export async function decideByHand(
  { log, io, metrics }: TransactionContext,
  branch: Branch | undefined,
  decision: 'commit' | 'rollback',
  hands: Hands,
): Promise<boolean> {
  if (branch?.phase !== 'prepared') return false;
  const { commands } = advance(branch, { kind: 'operatorDecided', decision });
  metrics.decidedByOperator(decision);
  io.log.event('warn', 'xa.branch.decided', { xid: branch.xid, decision });
  for (const { kind } of commands) {
    if (kind === 'apply') {
      const met = await (branch.applying = hands.apply(branch, 'heuristicCommitted'));
      if (met instanceof LockstepError) throw met;
    }
    if (kind === 'forceHeuristic') {
      const error = await log.force([recordOf(branch, 'heuristicRolledBack')]);
      if (error !== undefined) throw error;
    }
    if (kind === 'release') hands.release(branch);
  }
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
