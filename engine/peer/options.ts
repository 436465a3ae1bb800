/**
 * What the peer plane is told: who this node is, whom it talks to, and its bounds. Durations are microseconds.
 */
import { assert } from '../base/assert.ts';
import type { ChannelLimits } from '../base/channel.ts';
import type { NodeId } from '../base/ids.ts';
import type { Address } from '../io/network.ts';
import type { Hello } from './wire/messages.ts';

/** Another node, as membership knows it. */
export interface PeerTarget {
  readonly node: NodeId;
  /** Where its peer plane listens. */
  readonly address: Address;
  readonly datacenter: string;
  readonly rack: string;
  /** Its number in metrics. */
  readonly index: number;
}

export interface PeerLimits {
  /** Bytes of one frame at most, either way. Must exceed the largest object by the frame's own needs. */
  readonly frameBytesMax: number;
  /** Bytes of the chunks that small frames are written into. */
  readonly chunkBytes: number;
  /** Requests that wait for one link to send them; more are `full`. */
  readonly outbox: ChannelLimits;
  /**
   * Answers that wait for one peer to read them. Half full, its requests are not read; beyond, reads are answered
   * `Overloaded`, and at twice the bytes the connection is cut.
   */
  readonly answers: ChannelLimits;
  /** Requests of one peer being handled at once; more are answered `Overloaded`. */
  readonly inboundRequestCountMax: number;
  /** Their bytes. One larger request still passes when it is alone. */
  readonly inboundRequestBytesMax: number;
  /** Accepted connections at once; more are closed on the spot. */
  readonly inboundConnectionCountMax: number;
}

export interface PeerTimeouts {
  readonly connectUs: number;
  /** From the open connection to the other side's greeting. */
  readonly handshakeUs: number;
  /** A link on which nothing has come for this long is pinged (noticed within twice this). */
  readonly pingUs: number;
  /** A connection on which nothing has come for this long is cut (noticed within a `pingUs`); at least 3 `pingUs`. */
  readonly idleUs: number;
  /** How long a connection that is ended in order waits for the other side to end it too. */
  readonly lingerUs: number;
  /** Requests' deadlines are kept to this grain: up to this much late. */
  readonly deadlineGrainUs: number;
}

/** Wait before connecting again: doubles from min to max with each failure in a row, less a random part of half. */
export interface PeerBackoff {
  readonly minUs: number;
  readonly maxUs: number;
}

export interface PlaneOptions {
  /** What this node says of itself at the start (see `Plane.introduce`). */
  readonly hello: Hello;
  readonly listen: Address;
  /** The other nodes that are known at the start, each once; not this one. */
  readonly peers: readonly PeerTarget[];
  readonly limits: PeerLimits;
  readonly timeouts: PeerTimeouts;
  readonly backoff: PeerBackoff;
}

const mebibyte = 1024 * 1024;

export const defaultPeerLimits: PeerLimits = {
  frameBytesMax: 64 * mebibyte,
  chunkBytes: 16 * 1024,
  outbox: { countMax: 4096, bytesMax: 16 * mebibyte },
  answers: { countMax: 16_384, bytesMax: 64 * mebibyte },
  inboundRequestCountMax: 8192,
  inboundRequestBytesMax: 64 * mebibyte,
  inboundConnectionCountMax: 1024,
};

export const defaultPeerTimeouts: PeerTimeouts = {
  connectUs: 1_000_000,
  handshakeUs: 2_000_000,
  pingUs: 1_000_000,
  idleUs: 5_000_000,
  lingerUs: 500_000,
  deadlineGrainUs: 5_000,
};

export const defaultPeerBackoff: PeerBackoff = { minUs: 50_000, maxUs: 2_000_000 };

/** Checks what the configuration cannot get wrong but a program can. */
export function assertOptions({ hello, peers, limits, timeouts, backoff }: PlaneOptions): void {
  const nodes = new Set(peers.map((peer) => peer.node));
  assert(nodes.size === peers.length, 'every peer is listed once');
  assert(!nodes.has(hello.node), 'a node is not its own peer');
  assert(timeouts.idleUs >= 3 * timeouts.pingUs, 'idleUs is at least three times pingUs');
  assert(timeouts.deadlineGrainUs > 0 && timeouts.pingUs > 0, 'grain and ping interval are positive');
  assert(backoff.minUs > 0 && backoff.maxUs >= backoff.minUs, 'the back-off grows from a positive wait');
  // Half full, no more requests are taken in; those that are in find room.
  assert(
    limits.answers.countMax >= 2 * limits.inboundRequestCountMax,
    'every request taken in can be answered',
  );
}
