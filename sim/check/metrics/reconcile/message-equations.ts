/**
 * Equations of publish and subscribe: what a node counts is what its connections carried. A message is counted as
 * published when its turn comes, which is invisible until PUBLISH is answered; that a peer has not confirmed one, or got
 * it too late, is visible only as being impossible while nothing goes wrong.
 */
import type { IncarnationAccount } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal, upTo } from './claims.ts';
import type { Numbers } from './numbers.ts';

const kinds = ['channel', 'pattern', 'shard'] as const;

/** The claims about the metrics of publish and subscribe of one account. */
export function messageEquations(numbers: Numbers, { truth }: IncarnationAccount): readonly Claim[] {
  const { messages } = truth.redis;
  const { published, unanswered, delivered, dropped, subscriptions } = messages;
  const counted = (name: string): number => numbers.sum(`svc_pubsub_${name}`);
  const toPeers = (published + unanswered) * truth.peersMax;
  return [
    upTo('svc_pubsub_published_total', counted('published_total'), published, unanswered),
    equal('svc_pubsub_delivered_total', counted('delivered_total'), delivered),
    equal('svc_pubsub_subscribers_dropped_total', counted('subscribers_dropped_total'), dropped),
    between('svc_pubsub_unconfirmed_total', counted('unconfirmed_total'), 0, truth.undisturbed ? 0 : toPeers),
    ...(truth.undisturbed
      ? [equal('svc_pubsub_outdated_total, with no fault injected', counted('outdated_total'), 0)]
      : []),
    ...kinds.map((kind) => {
      const family = 'svc_pubsub_subscriptions';
      return equal(`${family}, ${kind}`, numbers.sum(family, { kind }), subscriptions[kind]);
    }),
  ];
}
