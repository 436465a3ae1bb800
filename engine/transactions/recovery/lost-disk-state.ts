/**
 * What others know of a node whose disk was lost (cluster/changes/rebuild.ts), and how it asks them. A transaction that an earlier
 * life of it has voted for is over for its keys when it is aborted, or its coordinator has heard that it was carried out:
 * until then the lock that was lost with the vote is missing, and the order may be given again (`redo`). A coordinator
 * that has lost the order itself, in a restart, gives nothing again; an operator hears of that branch. The same of a node
 * that died, and that another one replaces (cluster/changes/replacement-takeover.ts): the order goes to that one.
 */
import type { NodeId } from '../../base/ids.ts';
import type { LostDiskState } from '../../cluster/membership/lost-disk-state.ts';
import { isOpenAt } from '../coordinator/active-transaction.ts';
import type { NoAnswer, TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { BranchReply } from '../formats/messages.ts';

/** What of a legacy the rooms above know. */
export type Memories = () => Omit<LostDiskState, 'open'>;

/** This node's answer to one that is in its life `life`. */
export function legacyOf(
  coordinator: Pick<Coordinator, 'all'>,
  memories: Memories,
  node: NodeId,
  life: number,
): LostDiskState {
  return { open: coordinator.all.some((active) => isOpenAt(active, node, life)), ...memories() };
}

/** Undefined: it has not answered. A node of an earlier version may hold anything, and says nothing of transactions. */
export async function askLostDiskState(
  context: TransactionContext,
  peer: NodeId,
): Promise<LostDiskState | undefined> {
  const { parts, lives } = context;
  const request = { kind: 'reborn', node: parts.self.node, life: lives.own() } as const;
  const reply = await askNode(context, peer, request, parts.settings.timeoutMs * 1000);
  if (reply.kind === 'bequeathed') return reply;
  return isUnheardOf(reply) ? { open: false, holds: true, whole: true, heard: [peer] } : undefined;
}

/** Whether the peer waits for a branch of the dead node's, which this one replaces; undefined: it has not answered. */
export async function askTakeover(
  context: TransactionContext,
  peer: NodeId,
  dead: NodeId,
): Promise<boolean | undefined> {
  const { parts } = context;
  const request = { kind: 'inherit', node: dead, heir: parts.self.node } as const;
  const reply = await askNode(context, peer, request, parts.settings.timeoutMs * 1000);
  if (reply.kind === 'told') return reply.state === 'undecided';
  return isUnheardOf(reply) ? false : undefined;
}

/** The peer is of an earlier version, and does not know the question. */
function isUnheardOf(reply: BranchReply | NoAnswer): boolean {
  return reply.kind === 'noAnswer' && reply.code === 'BadRequest';
}
