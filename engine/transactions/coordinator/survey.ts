/**
 * Asks every member what it knows of one transaction. An operator reads that before a heuristic decision; it changes
 * nothing.
 */
import type { NodeId } from '../../base/ids.ts';
import type { TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { MemberKnowledge } from '../formats/outcomes.ts';
import type { ReportedState } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';
import { coordinatorOf } from '../formats/xid.ts';

/**
 * The coordinator's answer first, even if it is no longer a member, then the members' in the ring's sequence. `here`
 * answers for this node.
 */
export async function surveyOf(
  context: TransactionContext,
  xid: Xid,
  here: () => Promise<ReportedState>,
): Promise<readonly MemberKnowledge[]> {
  const { self, ring } = context.parts;
  const coordinator = coordinatorOf(xid);
  const others = ring()
    .members.map(({ node }) => node)
    .filter((node) => node !== coordinator);
  const asked = coordinator === undefined ? others : [coordinator, ...others];
  const ask = async (node: NodeId): Promise<MemberKnowledge> => {
    const role = node === coordinator ? 'coordinator' : 'branch';
    return {
      node,
      role,
      knows: node === self.node ? knownOf(await here()) : await knownAt(context, node, xid),
    };
  };
  return Promise.all(asked.map(ask));
}

async function knownAt(
  context: TransactionContext,
  node: NodeId,
  xid: Xid,
): Promise<MemberKnowledge['knows']> {
  const timeoutUs = context.parts.settings.timeoutMs * 1000;
  const reply = await askNode(context, node, { kind: 'status', xid }, timeoutUs);
  return reply.kind === 'told' ? knownOf(reply.state) : 'unreachable';
}

function knownOf(state: ReportedState): MemberKnowledge['knows'] {
  return state === 'none' ? 'unknown' : state;
}
