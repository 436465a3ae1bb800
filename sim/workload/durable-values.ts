/**
 * Records since when the values of pipelines are certainly on which node's disk. The world reports every run of bytes
 * that becomes durable. Only a node's store counts: what a hint file holds is another node's.
 */
import type { Token } from '../../engine/base/ids.ts';
import { byteStringOf } from '../../engine/base/ids.ts';
import type { Ring } from '../../engine/cluster/ring/ring.ts';
import { routeToken } from '../../engine/cluster/ring/token.ts';
import type { KeeperGroup, PipelineCopies } from '../evidence/pipeline-copies.ts';
import { eachValueIn, valueBytes } from '../evidence/redis-pipelines.ts';
import type { Plan } from '../plan/plan.ts';
import { laterHoldersIn } from './client-keys.ts';

const storePath = /^store\//;

/** The durable values of one run. */
export class DurableValues implements PipelineCopies {
  readonly #ring: Ring;
  readonly #plan: Plan;
  readonly #isOutside: (node: string) => boolean;
  readonly #nothing: ReadonlyMap<number, number> = new Map();
  /** By node and value: since when. */
  readonly #held = new Map<string, Map<number, number>>();

  /** `isOutside`: the node is no longer a replica of any key, whatever its disk holds. */
  constructor(ring: Ring, plan: Plan, isOutside: (node: string) => boolean) {
    this.#ring = ring;
    this.#plan = plan;
    this.#isOutside = isOutside;
  }

  /** As for `DurableTags`, with the path of the file and the instant. */
  becameDurable(node: string, path: string, image: Buffer, from: number, to: number, atUs: number): void {
    if (!storePath.test(path) || this.#isOutside(node)) return;
    const held = this.#held.get(node) ?? new Map<number, number>();
    this.#held.set(node, held);
    // A value may cross the edges of the run.
    eachValueIn(image, Math.max(0, from - valueBytes), Math.min(image.length, to + valueBytes), (value) => {
      if (!held.has(value)) held.set(value, atUs);
    });
  }

  heldBy(node: string): ReadonlyMap<number, number> {
    return this.#held.get(node) ?? this.#nothing;
  }

  keepersOf(key: string, datacenter: string): readonly KeeperGroup[] {
    const { settings, nodes } = this.#plan;
    const bucket = String(settings['redis_bucket'] ?? 'redis');
    const token: Token = routeToken('STD', byteStringOf(bucket), byteStringOf(key));
    const placement = this.#ring.placement(token);
    const later = nodes.filter(({ name }) => laterHoldersIn(this.#plan).includes(name));
    const groupOf = (place: string): KeeperGroup => {
      const owners = placement.filter((member) => member.datacenter === place).map(({ node }) => node);
      const others = later.filter((node) => node.datacenter === place).map(({ name }) => name);
      return { nodes: [...new Set([...owners, ...others])], need: Math.floor(owners.length / 2) + 1 };
    };
    const level = settings['write_consistency'] ?? 'DC_QUORUM';
    const all = this.#ring.datacenters.map(groupOf);
    if (level === 'DC_ONE') return [{ nodes: all.flatMap((group) => group.nodes), need: 1 }];
    return level === 'DC_EACH_SAFE_QUORUM' ? all : [groupOf(datacenter)];
  }
}
