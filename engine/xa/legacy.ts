/**
 * What others know of a node whose disk was lost (transfer/refill.ts), and how it asks them. A transaction that an earlier
 * life of it has voted for is over for its keys when it is aborted, or its coordinator has heard that it was carried out:
 * until then the lock that was lost with the vote is missing, and the order may be given again (`redo`). A coordinator
 * that has lost the order itself, in a restart, gives nothing again; an operator hears of that branch.
 */
import type { NodeId } from '../base/ids.ts';
import type { Legacy } from '../membership/legacy.ts';
import type { Active } from './active.ts';
import { waitsFor } from './coordinator-protocol.ts';
import type { TransactionContext } from './context.ts';
import { askNode } from './context.ts';
import type { Coordinator } from './coordinator.ts';

/** What of a legacy the rooms above know. */
export type Memories = () => Omit<Legacy, 'open'>;

/** This node's answer to one that is in its life `life`. */
export function legacyOf(
  coordinator: Pick<Coordinator, 'all'>,
  memories: Memories,
  node: NodeId,
  life: number,
): Legacy {
  return { open: coordinator.all.some((active) => isOpenAt(active, node, life)), ...memories() };
}

/** The order was made for an earlier life of the node, which has not said that it was carried out. */
function isOpenAt({ orders, state }: Active, node: NodeId, life: number): boolean {
  const ordered = orders.get(node)?.branches.find((branch) => branch.node === node);
  if (ordered === undefined || ordered.life >= life) return false;
  // Who has nothing to write holds nothing from the decision on.
  return state.phase === 'committing'
    ? waitsFor(state, node)
    : !state.branches.some((branch) => branch.node === node && branch.acknowledged);
}

/** Undefined: it has not answered. A node of an earlier version may hold anything, and says nothing of transactions. */
export async function askLegacy(context: TransactionContext, peer: NodeId): Promise<Legacy | undefined> {
  const { parts, lives } = context;
  const request = { kind: 'reborn', node: parts.self.node, life: lives.own() } as const;
  const reply = await askNode(context, peer, request, parts.settings.timeoutMs * 1000);
  if (reply.kind === 'bequeathed') return reply;
  if (reply.kind !== 'noAnswer' || reply.code !== 'BadRequest') return undefined;
  return { open: false, holds: true, whole: true, heard: [peer] };
}
