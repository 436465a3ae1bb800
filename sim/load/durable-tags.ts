/**
 * Which tags are certainly on which node's disk: fed by the world with every run of bytes that has become durable, it
 * answers how many replicas would still have a write after the worst crash. It sees bytes, not the engine's formats.
 */
import { byteStringOf } from '../../engine/base/ids.ts';
import { endOfTag, nextTag, tagBytesMax } from './traced-value.ts';

export class DurableTags {
  /** Node -> the tags that it holds, a character for each byte: there is one for every copy of every write of a run. */
  readonly #tags = new Map<string, Set<string>>();
  readonly #isOutside: (node: string) => boolean;

  /** `isOutside`: the node is no replica of anything any more, whatever it holds. */
  constructor(isOutside: (node: string) => boolean = () => false) {
    this.#isOutside = isOutside;
  }

  /** Bytes `from..to - 1` of a file of `node` will survive any crash from now on; `image` is all of the file that will. */
  becameDurable(node: string, image: Buffer, from: number, to: number): void {
    const tags = this.#tagsOf(node);
    // A tag may lie across the edges of the run.
    const end = Math.min(image.length, to + tagBytesMax);
    const start = Math.max(0, from - tagBytesMax);
    for (let at = nextTag(image, start, end); at >= 0; at = nextTag(image, at + 1, end)) {
      const tagEnd = endOfTag(image, at, end);
      if (tagEnd > 0) tags.add(image.toString('latin1', at, tagEnd));
    }
  }

  /** How many of `replicas` hold the tag. */
  copies(tag: string, replicas: readonly string[]): number {
    const bytes = byteStringOf(tag);
    return replicas.filter((node) => !this.#isOutside(node) && this.#tagsOf(node).has(bytes)).length;
  }

  #tagsOf(node: string): Set<string> {
    const known = this.#tags.get(node);
    if (known !== undefined) return known;
    const tags = new Set<string>();
    this.#tags.set(node, tags);
    return tags;
  }
}
