/** Connects membership to the peer plane: its settings, the messages of gossip, and this node's greeting to peers. */
import type { ClusterServer } from '../api/stats/cluster-description.ts';
import { asLockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import { version } from '../base/version.ts';
import { splitAddress } from '../config/addresses.ts';
import type { NodeConfig } from '../config/config.ts';
import { detectorDefaults } from '../cluster/membership/detector.ts';
import { gossipDefaults } from '../cluster/membership/gossip.ts';
import type { Introduction, Membership, MembershipLinks } from '../cluster/membership/membership.ts';
import type { MembershipSettings } from '../cluster/membership/settings.ts';
import type { VersionRange } from '../peer/wire/versions.ts';
import type { Plane } from '../peer/plane.ts';
import type { Hello, PeerReply } from '../peer/wire/messages.ts';
import { selfOf } from './topology.ts';

/** The failure detector counts one silence as at most this many intervals (`cluster/membership/detector.ts`). */
const intervalsMax = 5;

/** The settings of membership. `epoch` is the id of this incarnation. */
export function membershipSettings(config: NodeConfig, epoch: string): MembershipSettings {
  const { gossipIntervalMs, phiThresholdMilli, phiWindowCount, phiMeanMsMin } = config;
  // Nodes gossip at one pace. A mean below it would call a peer DOWN before its next sign of life is due.
  const meanMsMin = Math.max(phiMeanMsMin, gossipIntervalMs);
  return {
    self: selfOf(config),
    address: config.peerAdvertise ?? config.peerListen,
    epoch,
    joining: config.join === 'joining',
    replaces: config.replace,
    seeds: config.seeds,
    gossip: { ...gossipDefaults, intervalUs: gossipIntervalMs * 1000 },
    detector: {
      ...detectorDefaults,
      samplesMax: phiWindowCount,
      meanUsMin: meanMsMin * 1000,
      intervalUsMax: intervalsMax * meanMsMin * 1000,
      thresholdMilliPhi: phiThresholdMilli,
    },
  };
}

/**
 * This node's greeting to a peer. `epoch` is the id of this incarnation, `messages` what it speaks; `said` comes from
 * membership.
 */
export function helloOf(
  config: NodeConfig,
  epoch: string,
  messages: VersionRange,
  { address, ...said }: Introduction,
  isBlank: boolean,
): Hello {
  const { name, datacenter, rack, tokens, clusterId, replace } = config;
  const replacement = replace === undefined ? {} : { replaces: replace };
  const who = { clusterId, node: name, datacenter, rack, tokens, epoch };
  return { ...who, version, messages, ...replacement, ...said, ...(isBlank ? { blankAt: address } : {}) };
}

/**
 * The peer plane as membership uses it. `plane` is called only once the node starts, because plane and membership are
 * built on each other.
 */
export function membershipLinks(
  config: NodeConfig,
  epoch: string,
  messages: () => VersionRange,
  isBlank: () => boolean,
  plane: () => Plane,
): MembershipLinks {
  return {
    isConnected: (peer) => plane().isConnected(peer),
    ask: (peer, words, timeoutUs, onAnswer) =>
      plane().request(peer, { kind: 'gossip', words }, timeoutUs, (reply) => {
        onAnswer(reply.kind === 'gossiped' ? reply.words : undefined);
      }),
    addPeer: (peer) => plane().addPeer(peer),
    updatePeer: (peer, lifeEpoch) => plane().updatePeer(peer, lifeEpoch),
    removePeer: (node) => plane().removePeer(node),
    introduce: (said) => plane().introduce(helloOf(config, epoch, messages(), said, isBlank())),
  };
}

/** The reply to a peer's gossip message: `gossiped`, or `failed` with the error's code. */
export function gossipReply(membership: Membership, from: NodeId, words: Uint8Array): PeerReply {
  try {
    return { kind: 'gossiped', words: membership.answer(from, words) };
  } catch (error) {
    const { code, message: detail } = asLockstepError(error);
    return { kind: 'failed', code, detail };
  }
}

/** Every member, as `/cluster_describe` shows it. */
export function clusterServers(membership: Membership): readonly ClusterServer[] {
  return membership.members().map(({ node, datacenter, rack, tokens, address }) => {
    const { host, port } = splitAddress(address) ?? { host: address, port: 0 };
    return { name: node, dc: datacenter, rack, host, port, tokens };
  });
}
