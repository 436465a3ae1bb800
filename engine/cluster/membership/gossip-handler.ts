/**
 * A node's gossip as embedders see it: what its peers are thought to be, and into which metrics that is counted beside
 * the node's own.
 */
import type { NodeId } from '../../base/ids.ts';
import type { FailureMetrics } from '../../metrics/failure-metrics.ts';
import type { Membership } from './membership.ts';
import type { PeerState } from './states.ts';

export class GossipHandler {
  readonly #membership: Pick<Membership, 'peers' | 'state'>;
  readonly #failures: FailureMetrics;

  /** `failures`: what the membership's observer counts into. */
  constructor(membership: Pick<Membership, 'peers' | 'state'>, failures: FailureMetrics) {
    this.#membership = membership;
    this.#failures = failures;
  }

  /**
   * From now on counts into these metrics too: changes of peers' states, their present states, and their phi. The peers
   * that are known already are shown at once. A `ClusterDispatcher` may share them.
   */
  withFailureMetrics(metrics: FailureMetrics): this {
    this.#failures.copyGossipTo(metrics);
    return this;
  }

  /** The other members, by name, in the order in which they became known. */
  get peers(): readonly NodeId[] {
    return this.#membership.peers.map(({ node }) => node);
  }

  /** What state this node thinks the peer is in. */
  state(peer: NodeId): PeerState {
    return this.#membership.state(peer);
  }
}
