/**
 * `removed-node-restart`: starts removed nodes again on their old disk, as a supervisor or an uninformed operator
 * would.
 *
 * A node that has left must refuse to start (`StoreForeign`, checked by `input-robustness`): its disk knows nothing of
 * deletions since. A node that was replaced may start, since it cannot know; it must serve no client and no peer
 * (`durable-before-ack`, `quorum-intersection`). A node that joins anew with an empty disk is a member like any other.
 */
import type { ReturnMode } from './kinds/fault-kinds.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';
import type { ForeignStart } from './disk-faults.ts';

/** Injects `removed-node-restart` and records the starts that must be refused. */
export class Returns {
  /** Starts of nodes that have left. */
  readonly starts: ForeignStart[] = [];
  /** Nodes that completed their ring change and own their ranges. */
  readonly #arrived = new Set<string>();
  readonly #world: World;
  readonly #cluster: Cluster;

  constructor(world: World, cluster: Cluster) {
    this.#world = world;
    this.#cluster = cluster;
    world.trace.on('membership.move.declared', ({ host, fields }) => {
      if (fields['state'] === 'NORMAL' && fields['move'] === 'none') this.#arrived.add(host);
    });
    world.trace.on('node.started', ({ host }) => this.#served(host));
  }

  /**
   * Starts the removed node. Returns false if it is not gone: until its replacement has arrived, it is a member that
   * was away.
   */
  strike(name: string, join: ReturnMode): boolean {
    const replacement = this.#cluster.replacementOf(name);
    if (replacement !== undefined && !this.#arrived.has(replacement)) return false;
    const gone = this.#cluster.returns(name, join);
    if (gone === undefined) return false;
    if (gone === 'replaced' || join === 'anew') return true;
    const { lives: life } = this.#cluster.host(name);
    this.starts.push({ node: name, life, atUs: this.#world.nowUs, served: false });
    return true;
  }

  #served(name: string): void {
    const start = this.starts.findLast(({ node }) => node === name);
    // Impostors, which the cluster knows nothing of, start too.
    if (start !== undefined && start.life === this.#cluster.host(name).lives) start.served = true;
  }
}
