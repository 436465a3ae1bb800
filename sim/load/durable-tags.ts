/**
 * Which tags are certainly on which node's disk: fed by the world with every run of bytes that has become durable, it
 * answers how many replicas would still have a write after the worst crash. It sees bytes, not the engine's formats.
 */
import { tagAt, tagBytesMax, tagOpening } from './traced-value.ts';

export class DurableTags {
  /** Node -> the tags that it holds. */
  readonly #tags = new Map<string, Set<string>>();

  /** Bytes `from..to - 1` of a file of `node` will survive any crash from now on; `image` is all of the file that will. */
  becameDurable(node: string, image: Buffer, from: number, to: number): void {
    const tags = this.#tagsOf(node);
    // A tag may lie across the edges of the run.
    const end = Math.min(image.length, to + tagBytesMax);
    const bytes = image.subarray(Math.max(0, from - tagBytesMax), end);
    for (let at = bytes.indexOf(tagOpening); at >= 0; at = bytes.indexOf(tagOpening, at + 1)) {
      const tag = tagAt(bytes, at);
      if (tag !== undefined) tags.add(tag);
    }
  }

  /** How many of `replicas` hold the tag. */
  copies(tag: string, replicas: readonly string[]): number {
    return replicas.filter((node) => this.#tagsOf(node).has(tag)).length;
  }

  #tagsOf(node: string): Set<string> {
    const known = this.#tags.get(node);
    if (known !== undefined) return known;
    const tags = new Set<string>();
    this.#tags.set(node, tags);
    return tags;
  }
}
