/**
 * A primary claims a client's name at the other owners of its keys before it votes or commits under it. Whatever was
 * carried out under a name, and acknowledged, is kept by most owners of its keys, as the objects are; so a primary that
 * has heard from as many as make a majority with itself knows it, though it was another's key then, or its own disk is a
 * new one that was filled. The owners that answer remember the claim (claims.ts): a fence at a majority (fence.ts) either
 * meets it there, or stands against it. A primary that hears from too few does not carry out what may have been carried
 * out, or fenced.
 *
 * A disk that went back to an older image has lost what made the majority, and does not know it. So a node hears the answers
 * that come about as quickly as the majority's, too, for one of them may know the name; it waits for none that is slow, but
 * for one that is there and that it has no link to yet: after a crash a peer refuses the new life until it has noticed that
 * the old one's connection is dead. Disks go back between two lives: on a new disk, and once names of the life before are
 * remembered by nobody, the majority is enough.
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

/** Owners of one token that have to answer, of whom some answers are lacking. */
interface Quorum {
  readonly nodes: ReadonlySet<NodeId>;
  lacking: number;
}

/** Once enough have answered the rest is waited for as long again as they took, and so long at least. */
const graceUsMin = 5_000;
/** How often a link is tried that is not up yet. */
const retryUs = 20_000;

/**
 * Claims the order's name at the other owners of its keys; resolves with what stands against it. Asks no other node for
 * keys that this node alone owns. Takes a quarter of the request timeout at most.
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
      grace ??= clock.after(Math.max(graceUsMin, clock.nowUs() - beganUs), () => end(undefined));
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
      // A node of an earlier version knows of no claims, but of what was carried out.
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
      clock.after(retryUs, () => {
        unlinked -= 1;
        ask(node, request);
      });
    } else hear(node, unsent);
  };
  if (nodes.size === 0) return Promise.resolve(undefined);
  for (const node of nodes) ask(node);
  return answer.promise;
}

/** It is there, and only the link to it is not. */
function isLinkedSoon({ parts }: TransactionContext, node: NodeId, { code }: NoAnswer): boolean {
  const member = parts.member(node);
  return code !== 'ShuttingDown' && member !== undefined && parts.view.isRoutable(member);
}

function quorumsOf({ parts }: TransactionContext, { operations }: PrepareRequest): readonly Quorum[] {
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
  return reply.kind === 'named' || isUnknownRequest(reply);
}

function isUnknownRequest(reply: BranchReply | NoAnswer): boolean {
  return reply.kind === 'noAnswer' && reply.code === 'BadRequest';
}

/** The detail of an abort that says nothing of earlier transactions under its name. */
const idUnknown = 'too few replicas can say whether the id was used before; try again later';

function unknown(): Voted {
  return votedAbort('no_targets', idUnknown);
}
