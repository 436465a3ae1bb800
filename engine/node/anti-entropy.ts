/**
 * Composes the node's anti-entropy from its configuration, and describes its status for operators (`GET /aae`). The
 * exchange and the repairs themselves are in `anti-entropy/`.
 */
import type { AntiEntropyOptions, AntiEntropyStatus, PeerStatus } from '../anti-entropy/anti-entropy.ts';
import { AntiEntropy } from '../anti-entropy/anti-entropy.ts';
import { ownsTokens, sharedRanges } from '../anti-entropy/shared-ranges.ts';
import type { AntiEntropyAdmin } from '../api/http/anti-entropy-routes.ts';
import type { NodeId } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { NodeConfig } from '../config/config.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { Replica } from '../replica/replica.ts';
import type { Io } from '../io/io.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { Buckets } from '../buckets/buckets.ts';
import type { NodeStats } from '../metrics/node-stats.ts';
import type { Store } from '../storage/store.ts';
import { peerContentBytesMax } from './topology.ts';

const secondUs = 1_000_000;

/** The node's own modules that anti-entropy reads, repairs and counts into. */
interface Holdings {
  readonly store: Store;
  readonly buckets: Buckets;
  readonly replica: Replica;
  readonly stats: NodeStats;
}

/** The node's anti-entropy, not yet started. Undefined if the configuration has it off (`aaeEnabled`). */
export function composeAntiEntropy(
  io: Io,
  config: NodeConfig,
  links: PeerLinks,
  membership: Membership,
  { store, buckets, replica, stats }: Holdings,
): AntiEntropy | undefined {
  if (!config.aaeEnabled) return undefined;
  const parts = {
    io,
    self: config.name,
    store,
    replica,
    rules: (key: PackedKey) => buckets.ofKey(key),
    isFormer: (key: PackedKey) => buckets.epochs.isFormer(key),
    links,
    metrics: stats.antiEntropy,
    ring: () => membership.ring,
    peers: () => membership.peers,
    isThere: (node: NodeId) => membership.isRoutable(node) && membership.agrees(node),
    incarnationOf: (node: NodeId) => (membership.isRoutable(node) ? membership.lifeOf(node) : undefined),
  };
  return new AntiEntropy(parts, antiEntropyOptions(config));
}

/**
 * Called once the node knows the other members: sweeps may end. Without anti-entropy nothing brings back what a damaged
 * place of the log held. Where no other node has copies of this node's keys, nothing could: the node gives it up, and
 * reads of the other keys are answered again.
 */
export function noteAcquainted(
  antiEntropy: AntiEntropy | undefined,
  store: Store,
  { ring, self }: Membership,
): void {
  antiEntropy?.acquainted();
  if (antiEntropy !== undefined || !ownsTokens(ring, self.node)) return;
  if (sharedRanges(ring, self.node).size === 0) store.settleDamage();
}

/** Answers a peer's anti-entropy message: with the error `NotFound` if anti-entropy is off on this node. */
export function answerTree(
  antiEntropy: AntiEntropy | undefined,
  ...[from, words, reply]: Parameters<AntiEntropy['answer']>
): void {
  if (antiEntropy !== undefined) antiEntropy.answer(from, words, reply);
  else reply({ kind: 'failed', code: 'NotFound', detail: 'anti-entropy is off on this node' });
}

function antiEntropyOptions(config: NodeConfig): AntiEntropyOptions {
  return {
    tickUs: config.aaeTickIntervalSeconds * secondUs,
    fullSweepUs: config.aaeFullSweepIntervalSeconds * secondUs,
    snapshotUs: config.aaeSnapshotIntervalSeconds * secondUs,
    answerUs: config.peerRequestTimeoutMs * 1000,
    segmentBits: Math.clz32(1) - Math.clz32(config.aaeSegments),
    keysPerSecond: config.aaeThrottle,
    listBytesMax: Math.min(config.peerPageBytes, peerContentBytesMax(config)),
  };
}

/** The operator's commands over anti-entropy: its status, and a full sweep now. */
export function antiEntropyAdmin(antiEntropy: AntiEntropy): AntiEntropyAdmin {
  return {
    describe: () => describeStatus(antiEntropy.status()),
    sweep: () => antiEntropy.sweep(),
  };
}

/** The status under the field names of `GET /aae`. */
function describeStatus(status: AntiEntropyStatus): object {
  return {
    segments: status.segments,
    dirty_segments: status.dirtySegments,
    tree_bytes: status.treeBytes,
    sweep: status.sweeping ? 'under way' : 'none',
    peers: status.peers.map(describePeer),
  };
}

/** Times are Unix seconds; 0 means never in this incarnation of the node. */
function describePeer(status: PeerStatus): object {
  const { peer } = status;
  return {
    peer: peer.node,
    peer_idx: peer.index,
    dc: peer.datacenter,
    rack: peer.rack,
    shared_segments: status.sharedSegments,
    dirty_segments: status.dirtySegments,
    last_sweep_seconds: Math.floor(status.lastSweepMs / 1000),
    last_exchange_seconds: Math.floor(status.lastExchangeMs / 1000),
    last_exchange_outcome: status.lastOutcome,
    last_exchange_detail: status.lastDetail,
    divergent_keys_found: status.divergentKeys,
  };
}
