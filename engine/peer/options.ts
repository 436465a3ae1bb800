/**
 * Options of the peer plane: this node's name and address, the peers that it connects to, and its limits. Durations are
 * microseconds.
 */
import { assert } from '../base/assert.ts';
import type { ChannelLimits } from '../base/channel.ts';
import type { NodeId } from '../base/ids.ts';
import type { Address } from '../io/network.ts';
import type { Hello } from './wire/messages.ts';

/** Another node, as the membership knows it. */
export interface PeerTarget {
  readonly node: NodeId;
  /** Where its peer plane listens. */
  readonly address: Address;
  readonly datacenter: string;
  readonly rack: string;
  /** Its number in metrics. */
  readonly index: number;
}

/** Limits of the peer plane. */
export interface PeerLimits {
  /** The most bytes of one frame, in both directions. Must exceed the largest object by the frame's own overhead. */
  readonly frameBytesMax: number;
  /** Bytes of the chunks that small frames are written into. */
  readonly chunkBytes: number;
  /** Requests that wait for one link to send them; more return `full`. */
  readonly outbox: ChannelLimits;
  /**
   * Answers that wait for one peer to read them. At half of the count its requests are not read. Beyond the bytes,
   * reads are answered `Overloaded`. At twice the bytes the connection is cut.
   */
  readonly answers: ChannelLimits;
  /** The most requests of one peer that are handled at once; more are answered `Overloaded`. */
  readonly inboundRequestCountMax: number;
  /** The most bytes of those requests. A single larger request still passes. */
  readonly inboundRequestBytesMax: number;
  /** The most inbound connections; more are closed at once. */
  readonly inboundConnectionCountMax: number;
}

/** Timeouts of the peer plane, in microseconds. */
export interface PeerTimeouts {
  /** How long a connection attempt may take. */
  readonly connectUs: number;
  /** From the open connection to the other side's greeting. */
  readonly handshakeUs: number;
  /** A link on which nothing has arrived for this long is pinged (noticed within twice this). */
  readonly pingUs: number;
  /**
   * A connection on which nothing has arrived for this long is cut (noticed within a `pingUs`); or one of whose waiting
   * bytes none has left for this long (noticed within twice this). At least 3 `pingUs`.
   */
  readonly idleUs: number;
  /** How long a connection that was ended in order waits for the other side to end it, too. */
  readonly lingerUs: number;
  /** The grain of requests' deadlines: they may expire up to this much late. */
  readonly deadlineGrainUs: number;
}

/** The wait before a link connects again (`backoffDelayUs`), in microseconds. */
export interface PeerBackoff {
  readonly minUs: number;
  readonly maxUs: number;
}

/** Options of one plane. */
export interface PlaneOptions {
  /** This node's greeting at the start (see `Plane.introduce`). */
  readonly hello: Hello;
  readonly listen: Address;
  /** The other nodes that are known at the start, each once, without this one. */
  readonly peers: readonly PeerTarget[];
  /** The dead member whose place this node takes. It is of this node's datacenter, and may never be among the peers. */
  readonly replaces?: NodeId | undefined;
  readonly limits: PeerLimits;
  readonly timeouts: PeerTimeouts;
  readonly backoff: PeerBackoff;
}

const mebibyte = 1024 * 1024;

/** Default limits. */
export const defaultPeerLimits: PeerLimits = {
  frameBytesMax: 64 * mebibyte,
  chunkBytes: 16 * 1024,
  outbox: { countMax: 4096, bytesMax: 16 * mebibyte },
  answers: { countMax: 16_384, bytesMax: 64 * mebibyte },
  inboundRequestCountMax: 8192,
  inboundRequestBytesMax: 64 * mebibyte,
  inboundConnectionCountMax: 1024,
};

/** Default timeouts. */
export const defaultPeerTimeouts: PeerTimeouts = {
  connectUs: 1_000_000,
  handshakeUs: 2_000_000,
  pingUs: 1_000_000,
  idleUs: 5_000_000,
  lingerUs: 500_000,
  deadlineGrainUs: 5_000,
};

/** Default backoff: 50 ms to 2 s. */
export const defaultPeerBackoff: PeerBackoff = { minUs: 50_000, maxUs: 2_000_000 };

/** Asserts what no configuration can get wrong but a program can. */
export function assertOptions({ hello, peers, limits, timeouts, backoff }: PlaneOptions): void {
  const nodes = new Set(peers.map((peer) => peer.node));
  assert(nodes.size === peers.length, 'every peer is listed once');
  assert(!nodes.has(hello.node), 'a node is not its own peer');
  assert(timeouts.idleUs >= 3 * timeouts.pingUs, 'idleUs is at least three times pingUs');
  assert(timeouts.deadlineGrainUs > 0 && timeouts.pingUs > 0, 'grain and ping interval are positive');
  assert(backoff.minUs > 0 && backoff.maxUs >= backoff.minUs, 'the back-off grows from a positive wait');
  // At half of the count no more requests are read, so the requests being handled find space for their answers.
  assert(
    limits.answers.countMax >= 2 * limits.inboundRequestCountMax,
    'every request taken in can be answered',
  );
}
