/**
 * The dependencies of all rounds, collected once by `node/`: the modules below and the node's settings. Also the one
 * function by which a round asks a peer, and the errors of a round.
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
import type { ReadSpread } from './read-spread.ts';
import type { Replica } from '../replica/replica.ts';
import type { PeerLinks, ReplyHandler } from './peer-links.ts';
import type { ConsistencyLevel } from './requests.ts';

/** The node's settings for requests. */
export interface DispatchSettings {
  readonly readLevel: ConsistencyLevel;
  readonly writeLevel: ConsistencyLevel;
  /** Milliseconds that a request may take if the client names no timeout. */
  readonly timeoutMs: number;
}

/** What the rounds and the dispatcher need of one node. */
export interface RoundDependencies {
  readonly self: Member;
  /** The current ring. Every change of membership makes a new one. */
  readonly ring: () => Ring;
  /** The pending owners of the token: they get its writes beside its placement while owners change. */
  readonly pending: (token: Token) => readonly Member[];
  /** Whether the token's previous primary, before the last ring change, no longer acts as primary. */
  readonly handedOver: (token: Token) => boolean;
  /** Whether this node was the token's primary before the last ring change and some members may still use that ring. */
  readonly isFormer: (token: Token) => boolean;
  /**
   * Why this node may not yet act as a primary: its disk was empty and the rebuild is not complete. Undefined if it
   * may.
   */
  readonly notReadyReason: () => string | undefined;
  /** Whether a part of what the empty disk may have held has not been read back yet. */
  readonly unread: () => boolean;
  /** A member, including one that joins or leaves; undefined if the node is none. */
  readonly member: (node: NodeId) => Member | undefined;
  /** This node's incarnation number. */
  readonly ownLife: () => number;
  /** The peer's incarnation number as known here; 0 if it is unknown. */
  readonly lifeOf: (node: NodeId) => number;
  readonly plane: PeerLinks;
  /** Whether the full queue toward the peer would refuse a request of `bytes` bytes now. */
  readonly queueFull: (peer: NodeId, bytes: number) => boolean;
  /** Whether the link to the peer is up, and the peer reads requests of this kind. */
  readonly reads: (peer: NodeId, kind: PeerRequest['kind']) => boolean;
  readonly replica: Replica;
  /** Bounds the large objects that this node's reads bring here. */
  readonly readBudget: ReadBudget;
  /** Which replicas a read asks at first. */
  readonly spread: ReadSpread;
  readonly stats: NodeStats;
  readonly clock: Clock;
  readonly settings: DispatchSettings;
  /** Whether this node takes no writes because its disk is full. */
  readonly diskFull: () => boolean;
  /** Which members may be sent writes. */
  readonly view: Viewpoint;
  /**
   * Which members may be read. Unlike `view` it includes this node while its store has failed: its copies remain
   * readable.
   */
  readonly readView: Viewpoint;
  /** The properties of a key's bucket. */
  readonly rules: (key: PackedKey) => BucketProperties;
  /** The only source of tokens. */
  readonly router: Router;
  /** Stores the writes that a replica missed; undefined if hinted handoff is off. */
  readonly hints: Pick<Hints, 'keep'> | undefined;
  /** A peer's number in metrics: the label `peer_idx`. */
  readonly peerIndex: (node: NodeId) => number;
}

/**
 * Why this node must not be read as the token's primary yet. Undefined if it is not the primary or its data is
 * complete.
 */
export function lackingAt(
  { ring, self, notReadyReason }: Pick<RoundDependencies, 'ring' | 'self' | 'notReadyReason'>,
  token: Token,
): string | undefined {
  const lacking = notReadyReason();
  return lacking !== undefined && ring().placement(token)[0] === self ? lacking : undefined;
}

/** What `askPeer` needs. */
export type Asking = Pick<RoundDependencies, 'plane' | 'stats' | 'peerIndex'>;

/** What the named needs mean at this node. */
export function termsOf({ settings, view }: RoundDependencies): ReplicaTerms {
  const { readLevel, writeLevel } = settings;
  return { readLevel, writeLevel, replicaCount: () => view.rackCount(view.self.datacenter) };
}

/**
 * Sends a request to a peer's outbox. Undefined if the outbox took it: `onReply` is called exactly once. Otherwise the
 * failure, which is counted by its cause.
 */
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
    ? { code: 'Overloaded', message: fullQueue([peer]), unsent: true }
    : { code: 'NoTargets', message: `the link to ${peer.node} is down`, unsent: true };
}

/** The error text for a request that full queues toward `peers` refuse. */
export function fullQueue(peers: readonly Member[]): string {
  const names = peers.map(({ node }) => node).join(' and ');
  return `${peers.length === 1 ? 'the queue' : 'the queues'} toward ${names} ${peers.length === 1 ? 'is' : 'are'} full; try again later`;
}

/**
 * Why one replica did not do its part. It is no `Error`: a round mostly succeeds without that replica, and capturing a
 * stack costs nine times as much as the text and says nothing here.
 */
export type ReplyFailure = Pick<LockstepError, 'code' | 'message'> & {
  /** The replica was not asked. */
  readonly unsent?: true;
};

/** The failure as an error, for a request that ends with it. */
export function troubleError({ code, message }: ReplyFailure): LockstepError {
  return new LockstepError(code, message);
}

/** The failure in a reply that is not of the expected kind. */
export function replyFailure(reply: PeerReply): ReplyFailure {
  if (reply.kind === 'failed') return { code: reply.code, message: reply.detail };
  return { code: 'Internal', message: `a peer answered "${reply.kind}" to another question` };
}

/** `replyFailure` as an error, with the facts that the peer reported. */
export function replyError(reply: PeerReply): LockstepError {
  const { code, message } = replyFailure(reply);
  return new LockstepError(code, message, reply.kind === 'failed' ? reply.facts : {});
}

/**
 * The error of a request whose failures all come from peers that were not asked, at least one of them because the queue
 * toward it is full: the node is overloaded. Undefined for any other failures.
 */
export function unaskedError(failures: readonly ReplyFailure[]): LockstepError | undefined {
  if (failures.some(({ unsent }) => unsent !== true)) return undefined;
  if (failures.every(({ code }) => code !== 'Overloaded')) return undefined;
  const reasons = [...new Set(failures.map(({ message }) => message))].join('; ');
  return new LockstepError('Overloaded', reasons, { definite: true });
}

/**
 * The error of a request with too few answers: `Timeout` if a replica was silent, otherwise `NoQuorum`. `tally` begins
 * its text.
 */
export function roundError(
  failures: readonly ReplyFailure[],
  tally: string,
  facts: ErrorFacts = {},
): LockstepError {
  const reasons = [...new Set(failures.map((failure) => failure.message))].join('; ');
  const silent = failures.some((failure) => failure.code === 'Timeout' || failure.code === 'PeerGone');
  return new LockstepError(silent ? 'Timeout' : 'NoQuorum', `${tally}: ${reasons}`, facts);
}
