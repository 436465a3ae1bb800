/**
 * Whether a client's name was used before, asked of those who must know. Whatever was carried out under a name, and
 * acknowledged, is kept by most owners of its keys, as the objects are; so a primary that has heard from as many as make a
 * majority with itself knows it, though it was another's key then, or its own disk is a new one that was filled. Who hears
 * from too few does not carry out what may have been carried out. (A disk that went back has lost what made the majority:
 * then it is known if whoever answers first knows it, as it is with objects that such a disk has lost.)
 */
import { Deferred } from '../base/deferred.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { usedBefore } from './client-names.ts';
import type { NoAnswer, TransactionContext } from './context.ts';
import { tryAskNode } from './context.ts';
import { nearOwners } from './name-spread.ts';
import type { Voted } from './orders.ts';
import { votedAbort } from './orders.ts';
import type { BranchOrder, BranchReply } from './words.ts';

/** Owners of one token that have to answer, of whom some answers are lacking. */
interface Quorum {
  readonly nodes: ReadonlySet<NodeId>;
  lacking: number;
}

/**
 * What stands against the order's name at the other owners of its keys. Asks nobody for keys that this node alone owns. Takes
 * a quarter of `timeoutMs` at most.
 */
export function recallName(
  context: TransactionContext,
  order: BranchOrder,
  timeoutMs = context.parts.settings.timeoutMs,
): Promise<Voted | undefined> {
  const quorums = quorumsOf(context, order);
  const answer = new Deferred<Voted | undefined>();
  const nodes = new Set(quorums.flatMap((quorum) => [...quorum.nodes]));
  let awaited = nodes.size;
  const hear = (node: NodeId, reply: BranchReply | NoAnswer): void => {
    awaited -= 1;
    const [name] = reply.kind === 'named' ? reply.names : [];
    if (name !== undefined) answer.resolve(usedBefore(order, name));
    if (knows(reply)) for (const quorum of quorums) if (quorum.nodes.has(node)) quorum.lacking -= 1;
    if (quorums.every(({ lacking }) => lacking <= 0)) answer.resolve(undefined);
    else if (awaited === 0) answer.resolve(unknown());
  };
  if (nodes.size === 0) return Promise.resolve(undefined);
  const timeoutUs = Math.floor(timeoutMs * 250);
  for (const node of nodes) {
    const request = { kind: 'recall', clientId: order.clientId } as const;
    const unsent = tryAskNode(context, node, request, timeoutUs, (reply) => hear(node, reply));
    if (unsent !== undefined) hear(node, unsent);
  }
  return answer.promise;
}

function quorumsOf({ parts }: TransactionContext, { operations }: BranchOrder): readonly Quorum[] {
  const tokens = new Set<Token>(operations.map(({ token }) => token));
  const quorums = [...tokens].map((token) => {
    const owners = nearOwners(parts, token);
    const others = owners.filter(({ node }) => node !== parts.self.node);
    // If this node is an owner, it is one of the majority.
    const lacking = Math.floor(owners.length / 2) + 1 - (owners.length - others.length);
    return { nodes: new Set(others.map(({ node }) => node)), lacking };
  });
  return quorums.filter(({ lacking }) => lacking > 0);
}

/** A node of before keeps the names only of what it has led. */
function knows(reply: BranchReply | NoAnswer): boolean {
  return reply.kind === 'named' || (reply.kind === 'noAnswer' && reply.code === 'BadRequest');
}

/** Ends the detail of an abort that says nothing of earlier transactions under its name. */
export const idUnknown = 'too few replicas can say whether the id was used before; try again later';

function unknown(): Voted {
  return votedAbort('no_targets', idUnknown);
}
