/** Membership as the other rooms need it: gossip over the peer plane, its settings, and what a greeting says. */
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
import type { Plane } from '../peer/plane.ts';
import type { Hello, PeerReply } from '../peer/wire/messages.ts';
import { selfOf } from './topology.ts';

/** Gossip that comes at every so many intervals counts as that rare at most (see engine/cluster/membership/detector.ts). */
const intervalsMax = 5;

/** `epoch` is this life's. */
export function membershipSettings(config: NodeConfig, epoch: string): MembershipSettings {
  const { gossipIntervalMs, phiThresholdMilli, phiWindowCount, phiMeanMsMin } = config;
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
      meanUsMin: phiMeanMsMin * 1000,
      intervalUsMax: intervalsMax * Math.max(phiMeanMsMin, gossipIntervalMs) * 1000,
      thresholdMilliPhi: phiThresholdMilli,
    },
  };
}

/** What this node says of itself when it greets. */
export function helloOf(config: NodeConfig, epoch: string, said: Introduction): Hello {
  const { name, datacenter, rack, tokens, clusterId, replace } = config;
  const heir = replace === undefined ? {} : { replaces: replace };
  return { clusterId, node: name, datacenter, rack, tokens, epoch, version, ...heir, ...said };
}

/** The plane as membership needs it. It is asked for late, since each is built on the other. */
export function membershipLinks(config: NodeConfig, epoch: string, plane: () => Plane): MembershipLinks {
  return {
    isConnected: (peer) => plane().isConnected(peer),
    ask: (peer, words, timeoutUs, onAnswer) =>
      plane().request(peer, { kind: 'gossip', words }, timeoutUs, (reply) => {
        onAnswer(reply.kind === 'gossiped' ? reply.words : undefined);
      }),
    addPeer: (peer) => plane().addPeer(peer),
    updatePeer: (peer, lifeEpoch) => plane().updatePeer(peer, lifeEpoch),
    removePeer: (node) => plane().removePeer(node),
    introduce: (said) => plane().introduce(helloOf(config, epoch, said)),
  };
}

/** The reply to a peer's words. */
export function gossipReply(membership: Membership, from: NodeId, words: Uint8Array): PeerReply {
  try {
    return { kind: 'gossiped', words: membership.answer(from, words) };
  } catch (error) {
    const { code, message: detail } = asLockstepError(error);
    return { kind: 'failed', code, detail };
  }
}

/** Every member as `/cluster_describe` shows it. */
export function clusterServers(membership: Membership): readonly ClusterServer[] {
  return membership.members().map(({ node, datacenter, rack, tokens, address }) => {
    const { host, port } = splitAddress(address) ?? { host: address, port: 0 };
    return { name: node, dc: datacenter, rack, host, port, tokens };
  });
}
