/**
 * Adds up the memory that reads of large objects hold at each node (engine/replication/read-budget.ts), from the node's
 * trace events.
 */
import type { ReadMemoryEntry, ReadMemoryRest } from '../check/bounds/read-memory.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';

/** Collects the evidence for the read-memory part of `resource-bounds`; all amounts are bytes. */
export class ReadMemoryObserver {
  readonly entries: ReadMemoryEntry[] = [];
  readonly rests: ReadMemoryRest[] = [];
  readonly #world: World;
  readonly #cluster: Cluster;
  /** Bytes held, by node and incarnation; incarnations without a large read have no entry. */
  readonly #heldBytes = new Map<string, number>();

  constructor(world: World, cluster: Cluster) {
    this.#world = world;
    this.#cluster = cluster;
    world.trace.on('dispatch.read.holds', ({ host, atUs, fields }) => {
      const heldBytes = this.#add(host, Number(fields['bytes']));
      if (fields['later'] === true) return;
      const bytesMax = cluster.configOf(host).clientReadBytesMax;
      this.entries.push({ node: host, atUs, bytes: Number(fields['bytes']), heldBytes, bytesMax });
    });
    world.trace.on('dispatch.read.gaveBack', ({ host, fields }) => {
      this.#add(host, -Number(fields['bytes']));
    });
    world.trace.on('node.stopped', ({ host }) => this.#rest(host));
  }

  /** No node holds memory for reads. */
  get isAtRest(): boolean {
    return this.#serving.every((name) => (this.#heldBytes.get(this.#lifeOf(name)) ?? 0) === 0);
  }

  /** Records the held bytes at an instant at which no read is in progress. */
  rest(): void {
    for (const name of this.#serving) this.#rest(name);
  }

  get #serving(): readonly string[] {
    return this.#cluster.members.filter((name) => this.#cluster.serves(name));
  }

  #rest(node: string): void {
    const heldBytes = this.#heldBytes.get(this.#lifeOf(node));
    if (heldBytes !== undefined) this.rests.push({ node, atUs: this.#world.nowUs, heldBytes });
  }

  /** Returns the bytes held before. */
  #add(host: string, bytes: number): number {
    const life = this.#lifeOf(host);
    const heldBytes = this.#heldBytes.get(life) ?? 0;
    this.#heldBytes.set(life, heldBytes + bytes);
    return heldBytes;
  }

  #lifeOf(host: string): string {
    return `${host}/${this.#cluster.host(host).lives}`;
  }
}
