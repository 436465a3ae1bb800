/**
 * How a primary claims an idempotency key at the other owners of its objects before it votes or commits.
 *
 * Every acknowledged transaction's idempotency record is at a majority of the owners of its objects, as the objects
 * are. So a primary that hears from a majority (itself included) knows of it, even if another node was primary then, or
 * its own disk was rebuilt. The owners that answer remember the claim (claims.ts): a fence at a majority (fence.ts)
 * either meets the claim there, or rules it out. A primary that hears from too few owners votes abort, since the
 * transaction may have been applied or fenced.
 *
 * A disk that went back to an older image has lost what made the majority, and does not know it. While that is
 * possible, the primary also uses the answers that come about as quickly as the majority's, since one of those owners
 * may know the key. It does not wait for slow owners. It does wait for a reachable owner without a link: after a crash
 * a peer refuses the new incarnation until it notices that the old connection is dead.
 *
 * A disk goes back only between two incarnations. So the majority is enough on a new disk, and once every record of the
 * earlier incarnation is past its retention time.
 */
import { Deferred } from '../../base/deferred.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { Timer } from '../../io/clock.ts';
import { usedBefore } from './idempotency-keys.ts';
import type { NoAnswer, TransactionContext } from '../context.ts';
import { tryAskNode } from '../context.ts';
import { nearOwners } from './key-replication.ts';
import type { Voted } from '../formats/prepare-request.ts';
import { votedAbort } from '../formats/prepare-request.ts';
import type { PrepareRequest, BranchReply, BranchRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** The owners of one token, and how many of them must still answer. */
interface Quorum {
  readonly nodes: ReadonlySet<NodeId>;
  lacking: number;
}

/**
 * After the majority has answered, the other owners have as long again as the majority took, and at least this long.
 */
const graceUsMin = 5_000;
/** How often a request is tried again while the link to its owner is not up. */
const retryUs = 20_000;

/**
 * Claims the request's idempotency key at the other owners of its objects. Resolves with the vote against it, or
 * undefined if nothing rules it out. Asks no other node about objects that this node alone owns. Takes at most a
 * quarter of the request timeout.
 */
export function claimName(
  context: TransactionContext,
  xid: Xid,
  order: PrepareRequest,
): Promise<Voted | undefined> {
  const quorums = quorumsOf(context, order);
  const answer = new Deferred<Voted | undefined>();
  const nodes = new Set(quorums.flatMap((quorum) => [...quorum.nodes]));
  const { clock } = context.io;
  const { pauses } = context;
  const beganUs = clock.nowUs();
  const mayHaveGoneBack = context.mayHaveGoneBack();
  const timeoutUs = Math.floor(context.parts.settings.timeoutMs * 250);
  let awaited = nodes.size;
  let unlinked = 0;
  let grace: Timer | undefined;
  const end = (found: Voted | undefined): void => {
    grace?.cancel();
    answer.resolve(found);
  };
  const judge = (): void => {
    const enough = quorums.every(({ lacking }) => lacking <= 0);
    if (awaited === 0) end(enough ? undefined : unknown());
    else if (enough && !mayHaveGoneBack) end(undefined);
    else if (enough && unlinked === 0)
      grace ??= pauses.take(Math.max(graceUsMin, clock.nowUs() - beganUs), () => end(undefined));
  };
  const hear = (node: NodeId, reply: BranchReply | NoAnswer): void => {
    awaited -= 1;
    const [name] = reply.kind === 'named' ? reply.names : [];
    if (knows(reply)) for (const quorum of quorums) if (quorum.nodes.has(node)) quorum.lacking -= 1;
    if (answer.settled) return;
    if (reply.kind === 'voted') end(reply);
    else if (name !== undefined) end(usedBefore(order, name));
    else judge();
  };
  const { clientId, clientDigest } = order;
  const claim = { kind: 'claim', xid, leader: context.parts.self.node, clientId, clientDigest } as const;
  const ask = (node: NodeId, request: BranchRequest = claim): void => {
    if (answer.settled) return;
    const unsent = tryAskNode(context, node, request, timeoutUs, (reply) => {
      // A node of an earlier version knows no claims, but it knows what was applied.
      if (request === claim && isUnknownRequest(reply)) ask(node, { kind: 'recall', clientId });
      else hear(node, reply);
    });
    if (unsent === undefined) judge();
    else if (
      mayHaveGoneBack &&
      isLinkedSoon(context, node, unsent) &&
      clock.nowUs() + retryUs < beganUs + timeoutUs
    ) {
      unlinked += 1;
      pauses.take(retryUs, (stopped) => {
        unlinked -= 1;
        if (stopped) hear(node, unsent);
        else ask(node, request);
      });
    } else hear(node, unsent);
  };
  if (nodes.size === 0) return Promise.resolve(undefined);
  for (const node of nodes) ask(node);
  return answer.promise;
}

/** True if the owner is reachable and only the link to it is not up. */
function isLinkedSoon({ parts }: TransactionContext, node: NodeId, { code }: NoAnswer): boolean {
  const member = parts.member(node);
  return code !== 'ShuttingDown' && member !== undefined && parts.view.isRoutable(member);
}

function quorumsOf({ parts }: TransactionContext, { operations }: PrepareRequest): readonly Quorum[] {
  const tokens = new Set<Token>(operations.map(({ token }) => token));
  const quorums = [...tokens].map((token) => {
    const owners = nearOwners(parts, token);
    const others = owners.filter(({ node }) => node !== parts.self.node);
    // If this node is an owner, it counts toward the majority.
    const lacking = Math.floor(owners.length / 2) + 1 - (owners.length - others.length);
    return { nodes: new Set(others.map(({ node }) => node)), lacking };
  });
  return quorums.filter(({ lacking }) => lacking > 0);
}

/** A node of an earlier version keeps only the keys of what it has led. */
function knows(reply: BranchReply | NoAnswer): boolean {
  return reply.kind === 'named' || isUnknownRequest(reply);
}

function isUnknownRequest(reply: BranchReply | NoAnswer): boolean {
  return reply.kind === 'noAnswer' && reply.code === 'BadRequest';
}

/** The detail of an abort when too few owners could say whether the key was used. */
const idUnknown = 'too few replicas can say whether the id was used before; try again later';

function unknown(): Voted {
  return votedAbort('no_targets', idUnknown);
}
