/** What the configuration tells of this node's place, of the peer plane and of clients' limits. */
import { contentBytesMax, defaultContentLimits } from '../api/content-limits.ts';
import type { ContentLimits } from '../api/content-limits.ts';
import type { NodeConfig } from '../config/config.ts';
import type { PeerTarget, PlaneOptions } from '../peer/options.ts';
import { defaultPeerLimits, defaultPeerTimeouts } from '../peer/options.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { Hello } from '../peer/wire/messages.ts';

/** This node as a member of the ring. */
export function selfOf(config: NodeConfig): Member {
  const { name, datacenter, rack, tokens } = config;
  return { node: name, datacenter, rack, tokens };
}

/** What the plane is told. */
export function planeOptions(config: NodeConfig, peers: readonly PeerTarget[], hello: Hello): PlaneOptions {
  const idleUs = Math.max(config.peerRequestTimeoutMs * 1000, 3 * defaultPeerTimeouts.pingUs);
  return {
    hello,
    listen: config.peerListen,
    peers,
    limits: {
      ...defaultPeerLimits,
      frameBytesMax: config.frameBytesMax,
      outbox: { countMax: config.peerOutboxCountMax, bytesMax: config.peerOutboxBytesMax },
    },
    timeouts: { ...defaultPeerTimeouts, connectUs: config.peerConnectTimeoutMs * 1000, idleUs },
    backoff: { minUs: config.peerBackoffMsMin * 1000, maxUs: config.peerBackoffMsMax * 1000 },
  };
}

/** How large a client's object may be. */
export function contentLimits(config: NodeConfig): ContentLimits {
  return { ...defaultContentLimits, valueBytesMax: config.valueBytesMax };
}

/** Bytes of a client's request at most: a value and what describes it, and room for names and framing. */
export function requestBytesMax(config: NodeConfig): number {
  return contentBytesMax(contentLimits(config)) + 128 * 1024;
}
