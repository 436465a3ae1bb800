/** Composes publish and subscribe over all members, and its metrics. */
import type { PublicationCounts } from '../api/redis/messages/publications.ts';
import { Publications } from '../api/redis/messages/publications.ts';
import { subscriptionKinds } from '../api/redis/messages/subscriptions.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { NodeConfig } from '../config/config.ts';
import type { Io } from '../io/io.ts';
import type { FamilySource } from '../metrics/family.ts';
import { counterOf, gaugeBy } from '../metrics/family.ts';
import type { PeerLinks } from '../replication/peer-links.ts';

/** Publish and subscribe over all members. */
export function composePublications(
  io: Io,
  config: NodeConfig,
  links: PeerLinks,
  membership: Membership,
): Publications {
  return new Publications({
    ...{ io, links },
    peers: () => membership.peers.map(({ node }) => node),
    generation: () => membership.self.generation,
    answerBytesMax: Math.min(config.redisAnswerBytesMax, config.frameBytesMax / 2),
    pageItems: config.peerPageItems,
  });
}

const counters: readonly (readonly [name: string, help: string, count: keyof PublicationCounts])[] = [
  ['svc_pubsub_published_total', 'Messages that clients published at this node.', 'published'],
  [
    'svc_pubsub_delivered_total',
    'Messages written to connections of subscribers at this node, one per subscription.',
    'delivered',
  ],
  [
    'svc_pubsub_unconfirmed_total',
    'Messages that a peer did not confirm within a second: not sent, lost or late. One per message and peer.',
    'unconfirmed',
  ],
  [
    'svc_pubsub_outdated_total',
    'Messages of peers that came behind newer ones of the same peer, and were dropped.',
    'outdated',
  ],
  [
    'svc_pubsub_subscribers_dropped_total',
    'Connections closed because their client did not read its messages fast enough.',
    'droppedSubscribers',
  ],
];

/** The metric families. */
export function publicationFamilies(publications: Publications): readonly FamilySource[] {
  return [
    ...counters.map(([name, help, count]) => counterOf(name, help, () => publications.counts[count])),
    gaugeBy('svc_pubsub_subscriptions', 'Subscriptions of clients at this node.', 'kind', () =>
      Object.fromEntries(subscriptionKinds.map((kind) => [kind, publications.subscriptions.count(kind)])),
    ),
  ];
}
