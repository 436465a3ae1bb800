/**
 * What the peer plane reports for metrics: one small method per event, called when it happens. Gauges are read instead
 * (`Plane.gauges`). `peer.datacenter` tells local and remote peers apart.
 *
 * Equations that hold at any time: linkOpened = sum of linkClosed + open now. requestSent = responseReceived +
 * requestTimedOut(sent) + requests lost with their link + requests unanswered now.
 */
import type { SendOutcome } from '../base/channel.ts';
import type { ConnectFailure } from '../io/network.ts';
import type { FrameFault } from './wire/frames.ts';
import type { RefusalReason } from './wire/greetings.ts';
import type { PeerTarget } from './options.ts';

/**
 * Why a connection is over. `eof`: the other side ended it in order. `error`: it broke, or was cut because of malformed
 * input or a refusal. `timedOut`: nothing arrived in time. `closedHere`: this node closed it.
 */
export type CloseCause = 'eof' | 'error' | 'timedOut' | 'closedHere';

/** Which side opened the connection: this node (`outbound`) or the other one (`inbound`). */
export type Direction = 'inbound' | 'outbound';

/** Receives the events of the peer plane. */
export interface PeerObserver {
  /** A connection to a peer was opened; the peer has not greeted yet. */
  linkOpened(peer: PeerTarget): void;
  /** A connection to a peer is over. */
  linkClosed(peer: PeerTarget, cause: CloseCause): void;
  /** A connection attempt failed. */
  connectFailed(peer: PeerTarget, failure: ConnectFailure): void;
  /** The peer has greeted: requests may be sent to it. */
  peerAdmitted(peer: PeerTarget): void;
  /** A peer that was admitted is not connected any more. */
  peerEjected(peer: PeerTarget): void;
  /** One side has refused the other. */
  peerRefused(direction: Direction, reason: RefusalReason): void;

  /** A request was accepted. `queued`: requests to this peer that wait to be sent, including this one. */
  requestQueued(peer: PeerTarget, queued: number): void;
  /**
   * A request's frame was handed to the connection. `unanswered`: requests to this peer under way, including this one.
   * The plane's own pings are not requests.
   */
  requestSent(peer: PeerTarget, frameBytes: number, queueWaitUs: number, unanswered: number): void;
  /** A request was not accepted: the outbox was full, or there is no link. */
  requestDropped(peer: Pick<PeerTarget, 'node' | 'datacenter'>, outcome: Exclude<SendOutcome, 'ok'>): void;
  /** A request's deadline passed. `sent`: after it was sent. */
  requestTimedOut(peer: PeerTarget, sent: boolean): void;
  /** An answer to a request under way arrived. `roundTripUs`: since the request was sent. */
  responseReceived(peer: PeerTarget, frameBytes: number, roundTripUs: number): void;
  /** An answer arrived that matches no request under way: late, doubled, or of another kind. It is ignored. */
  responseMismatched(peer: PeerTarget): void;

  /** A peer has opened a connection. */
  inboundOpened(): void;
  /** A connection that a peer opened is over. */
  inboundClosed(cause: CloseCause): void;
  /** An answer to a peer is ready. `queued`: answers that wait on its connection, including this one. */
  answerQueued(queued: number): void;
  /** A peer's request was answered `Overloaded`: it was not handled, or its result was discarded. */
  inboundOverloaded(): void;
  /** This node's own handler answered a peer's request a second time. It is ignored; a bug. */
  answerDoubled(): void;

  /** Bytes that are no frame, or a frame that is no message. The connection is cut. */
  frameRejected(direction: Direction, fault: FrameFault): void;
}

/** Requests to some peers: waiting to be sent, and sent but not answered. */
export interface RequestGauges {
  queued: number;
  queuedBytes: number;
  unanswered: number;
  unansweredBytes: number;
}

/** The peer plane's gauges. */
export interface PeerGauges {
  /** Open connections that this node opened. */
  readonly outboundConnections: number;
  /** To peers of this node's datacenter. */
  readonly local: Readonly<RequestGauges>;
  /** To peers of other datacenters. */
  readonly remote: Readonly<RequestGauges>;
  /** Open connections that peers opened. */
  readonly inboundConnections: number;
  /** Requests of peers that are being handled. */
  readonly inboundRequests: number;
  readonly inboundRequestBytes: number;
  /** Answers to peers that were not handed to their connections yet. */
  readonly inboundAnswers: number;
  readonly inboundAnswerBytes: number;
}
