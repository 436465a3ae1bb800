/** Derives from the configuration this node's place in the ring, the peer plane's options, and limits of requests. */
import { contentBytesMax, defaultContentLimits } from '../api/content-limits.ts';
import type { ContentLimits } from '../api/content-limits.ts';
import type { NodeConfig } from '../config/config.ts';
import { frameOverheadBytes } from '../config/cross-field-checks.ts';
import type { PeerTarget, PlaneOptions } from '../peer/options.ts';
import { defaultPeerLimits, defaultPeerTimeouts } from '../peer/options.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { Hello } from '../peer/wire/messages.ts';

/** This node as a member of the ring. */
export function selfOf(config: NodeConfig): Member {
  const { name, datacenter, rack, tokens } = config;
  return { node: name, datacenter, rack, tokens };
}

/** Options of the peer plane. A link that is idle for one request timeout, or for three pings if longer, is closed. */
export function planeOptions(config: NodeConfig, peers: readonly PeerTarget[], hello: Hello): PlaneOptions {
  const idleUs = Math.max(config.peerRequestTimeoutMs * 1000, 3 * defaultPeerTimeouts.pingUs);
  return {
    hello,
    listen: config.peerListen,
    peers,
    replaces: config.replace,
    limits: {
      ...defaultPeerLimits,
      frameBytesMax: config.frameBytesMax,
      outbox: { countMax: config.peerOutboxCountMax, bytesMax: config.peerOutboxBytesMax },
    },
    timeouts: { ...defaultPeerTimeouts, connectUs: config.peerConnectTimeoutMs * 1000, idleUs },
    backoff: { minUs: config.peerBackoffMsMin * 1000, maxUs: config.peerBackoffMsMax * 1000 },
  };
}

/** Limits of a client's object. */
export function contentLimits(config: NodeConfig): ContentLimits {
  return { ...defaultContentLimits, valueBytesMax: config.valueBytesMax };
}

/** The most bytes of a client's request: one value with its metadata, plus 128 KiB for names and framing. */
export function requestBytesMax(config: NodeConfig): number {
  return contentBytesMax(contentLimits(config)) + requestOverheadBytes;
}

/** The most bytes of a binary-protocol message: one value, or a transaction. */
export function messageBytesMax(config: NodeConfig): number {
  const operations = operationBytes * config.transactionOperationsMax;
  return Math.max(requestBytesMax(config), transactionBytesMax(config) + operations + requestOverheadBytes);
}

/**
 * The most bytes of a body over HTTP: one value; a transaction, whose values may be in base64; or a batch of restored
 * objects, each with all of its siblings, as they travel between nodes. Handlers limit a value by itself.
 */
export function bodyBytesMax(config: NodeConfig): number {
  return Math.max(config.frameBytesMax, Math.ceil((4 / 3) * messageBytesMax(config)));
}

/** The most bytes of a transaction: a branch must fit into one peer message. */
export function transactionBytesMax(config: NodeConfig): number {
  return Math.min(config.transactionBytesMax, peerContentBytesMax(config));
}

/** The most bytes of content that one message to a peer holds. */
export function peerContentBytesMax({ frameBytesMax }: Pick<NodeConfig, 'frameBytesMax'>): number {
  return frameBytesMax - frameOverheadBytes;
}

/** Names and framing of a request, about. */
const requestOverheadBytes = 128 * 1024;
/** What the field names and lengths of an operation take, about. */
const operationBytes = 128;
