/**
 * `removed-node-restart`: nodes that are gone start again on their old disk, as a supervisor, or somebody who knows
 * no better, starts them. One that has left must be refused as `StoreForeign` by itself, for `input-robustness`: of
 * deletions since then its disk knows nothing. One that was replaced may start, since it cannot know; it must answer
 * nobody (`durable-before-ack`, `quorum-intersection`). One that joins anew, with an empty disk, is a member like any
 * other.
 */
import type { ReturnMode } from './kinds/fault-kinds.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';
import type { ForeignStart } from './disk-faults.ts';

export class Returns {
  /** Starts of nodes that have left. */
  readonly starts: ForeignStart[] = [];
  /** Who has come in and has what it is to own. */
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

  /** False: the node is not gone. Until its heir has arrived, one that is to be replaced is a member that was away. */
  strike(name: string, join: ReturnMode): boolean {
    const heir = this.#cluster.heirOf(name);
    if (heir !== undefined && !this.#arrived.has(heir)) return false;
    const gone = this.#cluster.returns(name, join);
    if (gone === undefined) return false;
    if (gone === 'replaced' || join === 'anew') return true;
    const { lives: life } = this.#cluster.host(name);
    this.starts.push({ node: name, life, atUs: this.#world.nowUs, served: false });
    return true;
  }

  #served(name: string): void {
    const start = this.starts.findLast(({ node }) => node === name);
    // Impostors, of whom the cluster knows nothing, start too.
    if (start !== undefined && start.life === this.#cluster.host(name).lives) start.served = true;
  }
}
