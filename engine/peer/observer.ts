/**
 * What the peer plane tells whoever counts: one small method per fact, called at the moment it becomes true. Gauges
 * are asked for instead (`Plane.gauges`). Local and remote peers are told apart by `peer.datacenter`.
 *
 * Equations that hold at any time: linkOpened = sum of linkClosed + open now; requestSent = responseReceived +
 * requestTimedOut(sent) + those lost with their link + those unanswered now.
 */
import type { SendOutcome } from '../base/channel.ts';
import type { ConnectFailure } from '../io/network.ts';
import type { FrameFault } from './wire/frames.ts';
import type { RefusalReason } from './wire/greetings.ts';
import type { PeerTarget } from './options.ts';

/**
 * Why a connection is over. `eof`: the other side ended it in order. `error`: it broke, or was cut for garbage or a
 * refusal. `timedOut`: nothing came in time. `closedHere`: this node wanted it so.
 */
export type CloseCause = 'eof' | 'error' | 'timedOut' | 'closedHere';

/** Which side opened the connection: this node (`outbound`) or the other one. */
export type Direction = 'inbound' | 'outbound';

export interface PeerObserver {
  /** A connection to a peer was opened; it has yet to greet. */
  linkOpened(peer: PeerTarget): void;
  linkClosed(peer: PeerTarget, cause: CloseCause): void;
  /** No connection could be made. */
  connectFailed(peer: PeerTarget, failure: ConnectFailure): void;
  /** The greeting is done: the peer can be asked. */
  peerAdmitted(peer: PeerTarget): void;
  /** A peer that could be asked cannot be asked any more. */
  peerEjected(peer: PeerTarget): void;
  /** One side would not talk to the other. */
  peerRefused(direction: Direction, reason: RefusalReason): void;

  /** A request was accepted; `queued` requests to this peer, it included, wait to be sent. */
  requestQueued(peer: PeerTarget, queued: number): void;
  /**
   * A request's frame has been handed to the connection; `unanswered` requests to this peer, it included, are under
   * way. Pings of the plane's own are not requests.
   */
  requestSent(peer: PeerTarget, frameBytes: number, queueWaitUs: number, unanswered: number): void;
  /** A request was turned away: the outbox was full, or there is no link. */
  requestDropped(peer: PeerTarget, outcome: Exclude<SendOutcome, 'ok'>): void;
  /** A request's deadline passed; `sent`: after it had left. */
  requestTimedOut(peer: PeerTarget, sent: boolean): void;
  /** An answer came for a request under way; `roundTripUs` counts from its sending. */
  responseReceived(peer: PeerTarget, frameBytes: number, roundTripUs: number): void;
  /** An answer came that matches no request under way: late, doubled, or of another kind. Ignored. */
  responseMismatched(peer: PeerTarget): void;

  inboundOpened(): void;
  inboundClosed(cause: CloseCause): void;
  /** An answer to a peer is ready; `queued` answers on its connection, it included, wait to be written out. */
  answerQueued(queued: number): void;
  /** A peer's request was answered `Overloaded`: not handled, or read for nothing. */
  inboundOverloaded(): void;
  /** A request of a peer was answered a second time by this node's own handler. Ignored; a bug. */
  answerDoubled(): void;

  /** Bytes that are no frame, or a frame that is no message. Their connection is cut. */
  frameRejected(direction: Direction, fault: FrameFault): void;
}

/** Requests toward some peers: waiting to be sent, and sent but not yet answered. */
export interface RequestGauges {
  queued: number;
  queuedBytes: number;
  unanswered: number;
  unansweredBytes: number;
}

export interface PeerGauges {
  /** Open connections that this node made. */
  readonly outboundConnections: number;
  /** Toward peers of this node's datacenter. */
  readonly local: Readonly<RequestGauges>;
  /** Toward peers of other datacenters. */
  readonly remote: Readonly<RequestGauges>;
  /** Open connections that peers made. */
  readonly inboundConnections: number;
  /** Requests of peers being handled. */
  readonly inboundRequests: number;
  readonly inboundRequestBytes: number;
  /** Answers to peers not yet handed to their connections. */
  readonly inboundAnswers: number;
  readonly inboundAnswerBytes: number;
}
