/**
 * Counts the events of membership. The states of peers and their phi scores go into the failure-cause families; gossip
 * and ring changes have families of their own (`ring_changes_total`, `svc_gossip_*`).
 */
import type { Io } from '../io/io.ts';
import type { MembershipObserver } from '../cluster/membership/observer.ts';
import { isRoutableState, isServingState, stateCode } from '../cluster/membership/states.ts';
import { refusalReasons } from '../cluster/membership/table.ts';
import { LabelledFamily } from '../metrics/labelled-family.ts';
import type { NodeStats } from '../metrics/node-stats.ts';

/** The observer that counts membership's events. Calls `onRoutable` when a peer can be sent requests again. */
export function countMembership(
  stats: NodeStats,
  io: Pick<Io, 'clock'>,
  onRoutable: (node: Parameters<MembershipObserver['moved']>[0]['node']) => void,
): MembershipObserver {
  const { failures, antiEntropy, pool } = stats;
  const changes = new LabelledFamily({
    name: 'ring_changes_total',
    help: 'Times that this node saw a change of who owns what: each step of a join or a leave is one.',
    type: 'counter',
    labels: [],
  });
  changes.child();
  stats.register(changes);
  const gossip = gossipFamilies();
  for (const family of Object.values(gossip)) stats.register(family);
  return {
    appeared: ({ index, node, datacenter, rack }) => {
      failures.addPeer(index, node, datacenter, rack);
      antiEntropy.addPeer(index, datacenter, rack);
    },
    left: ({ index }) => failures.removePeer(index),
    moved: ({ index, node, datacenter, rack }, from, to) => {
      failures.peerStateTransition(index, from, to);
      failures.setPeerState(index, datacenter, rack, stateCode(to));
      if (isServingState(to)) onRoutable(node);
      // A new incarnation passes through RESET within one instant: the peer was not ejected.
      if (!isRoutableState(from) || isRoutableState(to) || to === 'RESET') return;
      pool.peer_ejects += 1;
      pool.peer_ejected_at = io.clock.wallMs() * 1000;
    },
    scored: ({ index, datacenter, rack }, milliPhi) => failures.setPhi(index, datacenter, rack, milliPhi),
    refused: (reason) => {
      gossip.rejected.child(reason).value += 1;
    },
    ringChanged: () => {
      changes.child().value += 1;
    },
    sent: (bytes) => {
      gossip.messages.child().value += 1;
      gossip.bytes.child().value += bytes;
    },
  };
}

function gossipFamilies(): Readonly<Record<'messages' | 'bytes' | 'rejected', LabelledFamily>> {
  const messages = new LabelledFamily({
    name: 'svc_gossip_messages_total',
    help: 'Messages of gossip that this node sent, answers included: at most four per round.',
    type: 'counter',
    labels: [],
  });
  const bytes = new LabelledFamily({
    name: 'svc_gossip_bytes_total',
    help: 'Bytes of those messages, without their frames.',
    type: 'counter',
    labels: [],
  });
  const rejected = new LabelledFamily({
    name: 'svc_gossip_rejected_total',
    help: 'Records of members that were not taken in, and words that do not decode, by reason.',
    type: 'counter',
    labels: ['reason'],
  });
  messages.child();
  bytes.child();
  for (const reason of [...refusalReasons, 'malformed']) rejected.child(reason);
  return { messages, bytes, rejected };
}
