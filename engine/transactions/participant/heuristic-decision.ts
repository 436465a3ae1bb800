/**
 * Heuristic decisions: what an operator decides over a prepared branch of this node, how long the decision is kept, and
 * how it is reported. The protocol (protocol/branch-protocol.ts) records the decision and compares it with the
 * coordinator's: `operatorDecided`, `outcomeForced`, `operatorForgot`.
 */
import { present } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import type { Branch } from './branch.ts';
import type { BranchEvent } from '../protocol/branch-protocol.ts';
import type { Asker, TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';

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

/** What `checkForgettable` needs. */
interface Forgetting extends Asker, Pick<TransactionContext, 'lives'> {
  readonly parts: Asker['parts'] & Pick<RoundDependencies, 'self' | 'settings'>;
}

/**
 * Throws `Conflict` while an operator may not drop a heuristic decision that was never compared:
 * - Its coordinator is a member and has not lost its disk, so it may yet tell what it decided.
 * - Another branch waits for the outcome, or cannot be asked. It would take the missing record for an abort, and roll
 *   back by itself whatever was decided here.
 */
export async function checkForgettable(
  context: Forgetting,
  { xid, order, orphan }: Pick<Branch, 'xid' | 'order' | 'orphan'>,
): Promise<void> {
  const { lives, parts } = context;
  const { coordinator } = order;
  if (!orphan && !lives.isOver(coordinator)) {
    const detail = `${coordinator} coordinates the transaction and is a member: what was decided here is kept until that has said what it decided`;
    throw new LockstepError('Conflict', detail);
  }
  const others = order.branches.filter(
    ({ node }) => node !== parts.self.node && node !== coordinator && !lives.isOver(node),
  );
  const timeoutUs = parts.settings.timeoutMs * 1000;
  const replies = await Promise.all(
    others.map(({ node }) => askNode(context, node, { kind: 'waits', xid }, timeoutUs)),
  );
  for (const [index, { node }] of others.entries()) {
    const reply = replies[index];
    if (reply?.kind === 'told' && reply.state === 'none') continue;
    const why =
      reply?.kind === 'told'
        ? `${node} waits for the outcome, and would roll back: decide its branch first`
        : `${node} may wait for the outcome, and does not answer: abandon this branch once it does, or once it has left`;
    throw new LockstepError('Conflict', why);
  }
}

/** Logs that an operator gave up the comparison of a heuristic decision. */
export function reportForgotten(
  { io }: Pick<TransactionContext, 'io'>,
  { xid, phase, order }: Pick<Branch, 'xid' | 'phase' | 'order'>,
): void {
  io.log.event('warn', 'xa.branch.forgotten', { xid, here: phase, coordinator: order.coordinator });
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
