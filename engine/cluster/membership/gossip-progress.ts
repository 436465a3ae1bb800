/**
 * How far a table knows its peers, and how that compares with a digest. Every gossip message names every member, so in
 * a large cluster no other data is read as often. So the numbers lie side by side in arrays, apart from everything else
 * that is known of a peer.
 */
import type { NodeId } from '../../base/ids.ts';

/**
 * How far a table knows a node: its incarnation number (generation) and heartbeat (version). Gossip compares these
 * before it sends records.
 */
export interface DigestEntry {
  readonly node: NodeId;
  readonly generation: number;
  readonly version: number;
}

/** A peer's index: 0 for the first that was added, then one more each time. A forgotten peer's index is used again. */
export type PeerIndex = number;

/** How far one table knows its peers. */
export class Progress {
  readonly #indexes = new Map<NodeId, PeerIndex>();
  readonly #nodes: NodeId[] = [];
  readonly #generations: number[] = [];
  readonly #versions: number[] = [];
  /** For each peer the number of the last digest whose sender knows the peer at least as well. */
  readonly #knownIn: number[] = [];
  /** How many digests were compared. */
  #digests = 0;

  /** How many peers there are. */
  get count(): number {
    return this.#nodes.length;
  }

  /** Adds a peer and returns its index. */
  add({ node, generation, version }: DigestEntry): PeerIndex {
    const index = this.count;
    this.#indexes.set(node, index);
    this.#nodes.push(node);
    this.#generations.push(generation);
    this.#versions.push(version);
    this.#knownIn.push(0);
    return index;
  }

  /** Forgets the peer that has this index; another one gets it. */
  replace(index: PeerIndex, { node, generation, version }: DigestEntry): void {
    const forgotten = this.#nodes[index];
    if (forgotten !== undefined) this.#indexes.delete(forgotten);
    this.#indexes.set(node, index);
    this.#nodes[index] = node;
    this.#generations[index] = generation;
    this.#versions[index] = version;
    this.#knownIn[index] = 0;
  }

  /** Records how far the peer is known now. */
  set(index: PeerIndex, { generation, version }: DigestEntry): void {
    this.#generations[index] = generation;
    this.#versions[index] = version;
  }

  /** Appends an entry for each peer. */
  addTo(digest: DigestEntry[]): void {
    this.#nodes.forEach((node, index) => {
      digest.push({
        node,
        generation: this.#generations[index] ?? 0,
        version: this.#versions[index] ?? 0,
      });
    });
  }

  /** The peers that this table knows better than the sender of `digest`, by ascending index. */
  lackingIn(digest: readonly DigestEntry[]): readonly PeerIndex[] {
    const number = ++this.#digests;
    for (const entry of digest) {
      const index = this.#indexes.get(entry.node);
      if (index !== undefined) this.#knownIn[index] = this.#compare(index, entry) > 0 ? 0 : number;
    }
    const lacking: PeerIndex[] = [];
    for (let index = 0; index < this.count; index++) {
      // A peer of generation 0 is known by configuration only; there is no record of it to send.
      if (this.#knownIn[index] !== number && (this.#generations[index] ?? 0) > 0) lacking.push(index);
    }
    return lacking;
  }

  /** True if the entry's sender knows the peer better, or this table does not know the peer at all. */
  isBehind(entry: DigestEntry): boolean {
    const index = this.#indexes.get(entry.node);
    return index === undefined || this.#compare(index, entry) < 0;
  }

  /** Above 0 if this table knows the peer better than the entry, below 0 if less well. */
  #compare(index: PeerIndex, { generation, version }: DigestEntry): number {
    const lives = (this.#generations[index] ?? 0) - generation;
    return lives === 0 ? (this.#versions[index] ?? 0) - version : lives;
  }
}
