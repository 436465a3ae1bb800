/** A node's gossip for embedders: the states of its peers, and further metrics into which state changes are counted. */
import type { NodeId } from '../../base/ids.ts';
import type { FailureMetrics } from '../../metrics/failure-metrics.ts';
import type { Membership } from './membership.ts';
import type { PeerState } from './states.ts';

/** The embedders' view of one node's gossip. */
export class GossipHandler {
  readonly #membership: Pick<Membership, 'peers' | 'state'>;
  readonly #failures: FailureMetrics;

  /** `failures`: the metrics that the membership's observer counts into. */
  constructor(membership: Pick<Membership, 'peers' | 'state'>, failures: FailureMetrics) {
    this.#membership = membership;
    this.#failures = failures;
  }

  /**
   * Counts into these metrics from now on, too: changes of peers' states, their current states, and their phi. Adds the
   * peers that are already known at once. A `ClusterDispatcher` may share them.
   */
  withFailureMetrics(metrics: FailureMetrics): this {
    this.#failures.copyGossipTo(metrics);
    return this;
  }

  /** The other members by name, in the order in which they became known. */
  get peers(): readonly NodeId[] {
    return this.#membership.peers.map(({ node }) => node);
  }

  /** The peer's state in this node's opinion. */
  state(peer: NodeId): PeerState {
    return this.#membership.state(peer);
  }
}
