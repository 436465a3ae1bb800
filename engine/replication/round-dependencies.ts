/**
 * What the rounds of the dispatcher work with: the rooms below and the node's own settings, bundled once by the
 * dispatcher, and the one way in which a round asks a peer.
 */
import type { ErrorFacts } from '../base/errors.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { Clock } from '../io/clock.ts';
import type { BucketProperties } from '../buckets/properties.ts';
import type { Router } from '../buckets/router.ts';
import type { Member, Ring } from '../cluster/ring/ring.ts';
import type { NodeStats } from '../metrics/node-stats.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import type { Hints } from './hints/hints.ts';
import type { ReplicaTerms } from './needs.ts';
import type { Viewpoint } from './plan.ts';
import type { ReadBudget } from './read-budget.ts';
import type { Replica } from '../replica/replica.ts';
import type { PeerLinks, ReplyHandler } from './peer-links.ts';
import type { ConsistencyLevel } from './requests.ts';

export interface DispatchSettings {
  readonly readLevel: ConsistencyLevel;
  readonly writeLevel: ConsistencyLevel;
  /** Milliseconds that a request may take when the client names none. */
  readonly timeoutMs: number;
}

export interface RoundDependencies {
  readonly self: Member;
  /** The ring of now: another one after membership has changed. */
  readonly ring: () => Ring;
  /** Who is written to beside the token's placement, while its owners change. */
  readonly pending: (token: Token) => readonly Member[];
  /** Whoever was the token's primary before the ring changed acts as such no more. */
  readonly handedOver: (token: Token) => boolean;
  /** This node was the token's primary before the ring changed, and some may still go by that ring. */
  readonly isFormer: (token: Token) => boolean;
  /** Why this node is the primary of nothing yet: its disk was an empty one; undefined when it is. */
  readonly refilling: () => string | undefined;
  /** Of what its empty disk may have held not all has been read back yet. */
  readonly unread: () => boolean;
  /** A member, also one on its way in or out; undefined for a stranger. */
  readonly member: (node: NodeId) => Member | undefined;
  readonly plane: PeerLinks;
  readonly replica: Replica;
  /** What this node's reads may bring of large objects. */
  readonly readBudget: ReadBudget;
  readonly stats: NodeStats;
  readonly clock: Clock;
  readonly settings: DispatchSettings;
  /** This node takes no writes, since its disk is full. */
  readonly diskFull: () => boolean;
  /** Who can be written to. */
  readonly view: Viewpoint;
  /** Who can be read: this node too while its store has failed, for what it holds is no worse for that. */
  readonly readView: Viewpoint;
  /** The properties of a key's bucket. */
  readonly rules: (key: PackedKey) => BucketProperties;
  /** Where keys live: the only source of their tokens. */
  readonly router: Router;
  /** Keeps the writes that a replica missed; undefined when hinted handoff is off. */
  readonly hints: Pick<Hints, 'keep'> | undefined;
  /** A peer's number in metrics, the label `peer_idx`. */
  readonly peerIndex: (node: NodeId) => number;
}

/** Why this node, as the primary of the token, is not read yet; undefined: it is no primary there, or it is whole. */
export function lackAt(
  { ring, self, refilling }: Pick<RoundDependencies, 'ring' | 'self' | 'refilling'>,
  token: Token,
): string | undefined {
  const lacking = refilling();
  return lacking !== undefined && ring().placement(token)[0] === self ? lacking : undefined;
}

/** What it takes to ask a peer. */
export type Asking = Pick<RoundDependencies, 'plane' | 'stats' | 'peerIndex'>;

/** What quorum words mean at this node. */
export function termsOf({ settings, view }: RoundDependencies): ReplicaTerms {
  const { readLevel, writeLevel } = settings;
  return { readLevel, writeLevel, replicaCount: () => view.rackCount(view.self.datacenter) };
}

/** Hands a request to a peer's outbox; the trouble when it took nothing (counted by its cause). */
export function askPeer(
  parts: Asking,
  peer: Member,
  request: PeerRequest,
  timeoutUs: number,
  onReply: ReplyHandler,
): ReplyFailure | undefined {
  const outcome = parts.plane.request(peer.node, request, timeoutUs, onReply);
  if (outcome === 'ok') return undefined;
  const { failures } = parts.stats;
  const index = parts.peerIndex(peer.node);
  if (outcome === 'full') failures.peerSendFull(index, peer.datacenter);
  else failures.peerSendClosed(index, peer.datacenter);
  return outcome === 'full'
    ? { code: 'Overloaded', message: `the queue toward ${peer.node} is full; try again later` }
    : { code: 'NoTargets', message: `the link to ${peer.node} is down` };
}

/**
 * Why one replica did not do its part. No error yet: a round mostly ends well without that replica, and the stack of the
 * place where it was asked, or where its answer was read, costs nine times as much as the words and says nothing.
 */
export type ReplyFailure = Pick<LockstepError, 'code' | 'message'>;

/** The trouble as the error that ends what asked. */
export function troubleError({ code, message }: ReplyFailure): LockstepError {
  return new LockstepError(code, message);
}

/** What a reply tells that is not of the kind that was asked for. */
export function replyFailure(reply: PeerReply): ReplyFailure {
  if (reply.kind === 'failed') return { code: reply.code, message: reply.detail };
  return { code: 'Internal', message: `a peer answered "${reply.kind}" to another question` };
}

/** The same as the error that ends what asked. */
export function replyError(reply: PeerReply): LockstepError {
  const { code, message } = replyFailure(reply);
  return new LockstepError(code, message, reply.kind === 'failed' ? reply.facts : {});
}

/** Why a request that gathered too few answers failed: `Timeout` when silence was among the reasons. */
export function roundError(
  failures: readonly ReplyFailure[],
  tally: string,
  facts: ErrorFacts = {},
): LockstepError {
  const reasons = [...new Set(failures.map((failure) => failure.message))].join('; ');
  const silent = failures.some((failure) => failure.code === 'Timeout' || failure.code === 'PeerGone');
  return new LockstepError(silent ? 'Timeout' : 'NoQuorum', `${tally}: ${reasons}`, facts);
}
