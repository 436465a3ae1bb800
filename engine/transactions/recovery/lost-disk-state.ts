/**
 * What peers know of a node whose disk was lost (cluster/changes/rebuild.ts), and how that node asks them.
 *
 * A transaction that an earlier incarnation voted for is over once it is aborted, or once its coordinator has heard
 * that the branch was applied. Until then the lock that was lost with the vote is missing, and the coordinator may send
 * the prepare request again (`redo`). A coordinator that lost the prepare request in a restart sends nothing; an
 * operator resolves that branch.
 *
 * The same holds for a dead node that another one replaces (cluster/changes/replacement-takeover.ts): the prepare
 * requests go to the replacement.
 */
import type { NodeId } from '../../base/ids.ts';
import type { LostDiskState } from '../../cluster/membership/lost-disk-state.ts';
import { isOpenAt } from '../coordinator/active-transaction.ts';
import type { TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';

/** What the modules above the transactions know of the lost disk. `node/` supplies it. */
export type Memories = () => Omit<LostDiskState, 'open'>;

/** This node's answer to `node`, which has lost its disk and runs as incarnation `life`. */
export function legacyOf(
  coordinator: Pick<Coordinator, 'all'>,
  memories: Memories,
  node: NodeId,
  life: number,
): LostDiskState {
  return { open: coordinator.all.some((active) => isOpenAt(active, node, life)), ...memories() };
}

/** Asks the peer. Undefined if it has not answered. */
export async function askLostDiskState(
  context: TransactionContext,
  peer: NodeId,
): Promise<LostDiskState | undefined> {
  const { parts, lives } = context;
  const request = { kind: 'reborn', node: parts.self.node, life: lives.own() } as const;
  const reply = await askNode(context, peer, request, parts.settings.timeoutMs * 1000);
  return reply.kind === 'bequeathed' ? reply : undefined;
}

/**
 * Asks the peer whether it waits for a branch of `dead`, which this node replaces. Undefined if it has not answered.
 */
export async function askTakeover(
  context: TransactionContext,
  peer: NodeId,
  dead: NodeId,
): Promise<boolean | undefined> {
  const { parts } = context;
  const request = { kind: 'inherit', node: dead, replacement: parts.self.node } as const;
  const reply = await askNode(context, peer, request, parts.settings.timeoutMs * 1000);
  return reply.kind === 'told' ? reply.state === 'undecided' : undefined;
}
