/**
 * Which tags are certainly on which node's disk: fed by the world with every run of bytes that has become durable, it
 * answers how many replicas would still have a write after the worst crash. It sees bytes, not the engine's formats.
 */
import { TagNumbers } from './tag-numbers.ts';
import { endOfTag, nextTag, tagBytesMax } from './traced-value.ts';

const firstTags = 1024;

export class DurableTags {
  readonly #numbers = new TagNumbers();
  /** Node -> by a tag's number: 1 where it holds the tag. */
  readonly #held = new Map<string, Uint8Array>();
  readonly #isOutside: (node: string) => boolean;

  /** `isOutside`: the node is no replica of anything any more, whatever it holds. */
  constructor(isOutside: (node: string) => boolean = () => false) {
    this.#isOutside = isOutside;
  }

  /** Bytes `from..to - 1` of a file of `node` will survive any crash from now on; `image` is all of the file that will. */
  becameDurable(node: string, image: Buffer, from: number, to: number): void {
    // A tag may lie across the edges of the run.
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
