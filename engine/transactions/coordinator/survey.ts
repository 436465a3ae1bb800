/** What every member knows of one transaction: asked before an operator decides over it, and changing nothing. */
import type { NodeId } from '../../base/ids.ts';
import type { TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { MemberKnowledge } from '../formats/outcomes.ts';
import type { ReportedState } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';
import { coordinatorOf } from '../formats/xid.ts';

/** The coordinator first, also where it is no member any more, then the members in the order of their names. */
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
      knows: node === self.node ? wordFor(await here()) : await knownAt(context, node, xid),
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
  return reply.kind === 'told' ? wordFor(reply.state) : 'unreachable';
}

function wordFor(state: ReportedState): MemberKnowledge['knows'] {
  return state === 'none' ? 'unknown' : state;
}
