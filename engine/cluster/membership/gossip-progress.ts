/**
 * How far a table knows its peers, and how that compares with a digest. Every message of gossip names everyone, so in a
 * large cluster nothing is looked at as often: the numbers lie side by side, apart from all else that is known of a peer.
 */
import type { NodeId } from '../../base/ids.ts';

/** How far a table knows a node: what gossip compares before it sends records. */
export interface DigestEntry {
  readonly node: NodeId;
  readonly generation: number;
  readonly version: number;
}

/** A peer's number: 0 for the first that was added, then one more each time. None ever goes. */
export type PeerIndex = number;

export class Progress {
  readonly #indexes = new Map<NodeId, PeerIndex>();
  readonly #nodes: NodeId[] = [];
  readonly #generations: number[] = [];
  readonly #versions: number[] = [];
  /** Per peer the last digest whose maker knows it at least as well. */
  readonly #knownIn: number[] = [];
  /** Digests that were compared. */
  #digests = 0;

  /** Peers. */
  get count(): number {
    return this.#nodes.length;
  }

  add({ node, generation, version }: DigestEntry): PeerIndex {
    const index = this.count;
    this.#indexes.set(node, index);
    this.#nodes.push(node);
    this.#generations.push(generation);
    this.#versions.push(version);
    this.#knownIn.push(0);
    return index;
  }

  /** The peer is known that far now. */
  set(index: PeerIndex, { generation, version }: DigestEntry): void {
    this.#generations[index] = generation;
    this.#versions[index] = version;
  }

  /** Appends how far each peer is known. */
  addTo(digest: DigestEntry[]): void {
    this.#nodes.forEach((node, index) => {
      digest.push({
        node,
        generation: this.#generations[index] ?? 0,
        version: this.#versions[index] ?? 0,
      });
    });
  }

  /** The peers of whom anything is known that the maker of `digest` does not know, in order. */
  lackingIn(digest: readonly DigestEntry[]): readonly PeerIndex[] {
    const number = ++this.#digests;
    for (const entry of digest) {
      const index = this.#indexes.get(entry.node);
      if (index !== undefined) this.#knownIn[index] = this.#compare(index, entry) > 0 ? 0 : number;
    }
    const lacking: PeerIndex[] = [];
    for (let index = 0; index < this.count; index++) {
      // A peer that has said nothing yet is known by configuration only.
      if (this.#knownIn[index] !== number && (this.#generations[index] ?? 0) > 0) lacking.push(index);
    }
    return lacking;
  }

  /** The maker of a digest with this entry knows the peer better; a stranger is one of whom nothing is known here. */
  isBehind(entry: DigestEntry): boolean {
    const index = this.#indexes.get(entry.node);
    return index === undefined || this.#compare(index, entry) < 0;
  }

  /** Above 0 when the peer is known farther here than in the entry, below 0 when less far. */
  #compare(index: PeerIndex, { generation, version }: DigestEntry): number {
    const lives = (this.#generations[index] ?? 0) - generation;
    return lives === 0 ? (this.#versions[index] ?? 0) - version : lives;
  }
}
