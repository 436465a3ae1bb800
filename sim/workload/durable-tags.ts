/**
 * Records which tags are certainly on which node's disk. The world reports every run of bytes that becomes durable; the
 * module answers how many replicas would still hold a write after the worst crash. It sees bytes, not the engine's
 * formats.
 */
import { TagNumbers } from './tag-numbers.ts';
import { endOfTag, nextTag, tagBytesMax } from './traced-value.ts';

const firstTags = 1024;

/** The durable tags of one run. */
export class DurableTags {
  readonly #numbers = new TagNumbers();
  /** By node, then by the tag's number: 1 if the node holds the tag. */
  readonly #held = new Map<string, Uint8Array>();
  readonly #isOutside: (node: string) => boolean;

  /** `isOutside`: the node is no longer a replica of any key, whatever its disk holds. */
  constructor(isOutside: (node: string) => boolean = () => false) {
    this.#isOutside = isOutside;
  }

  /**
   * From now on the bytes `from..to - 1` of a file of `node` survive any crash; `image` is everything of the file that
   * does.
   */
  becameDurable(node: string, image: Buffer, from: number, to: number): void {
    // A tag may cross the edges of the run.
    const end = Math.min(image.length, to + tagBytesMax);
    const start = Math.max(0, from - tagBytesMax);
    for (let at = nextTag(image, start, end); at >= 0; at = nextTag(image, at + 1, end)) {
      const tagEnd = endOfTag(image, at, end);
      if (tagEnd > 0) this.#hold(node, this.#numbers.of(image, at, tagEnd));
    }
  }

  /** How many of `replicas` hold the tag. */
  copies(tag: string, replicas: readonly string[]): number {
    const number = this.#numbers.find(Buffer.from(tag));
    return replicas.filter((node) => !this.#isOutside(node) && this.#held.get(node)?.[number] === 1).length;
  }

  #hold(node: string, number: number): void {
    let held = this.#held.get(node) ?? new Uint8Array(firstTags);
    if (number >= held.length) {
      const grown = new Uint8Array(Math.max(number + 1, held.length * 2));
      grown.set(held);
      held = grown;
    }
    held[number] = 1;
    this.#held.set(node, held);
  }
}
