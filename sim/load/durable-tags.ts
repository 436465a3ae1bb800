/**
 * Which tags are certainly on which node's disk: fed by the world with every run of bytes that has become durable, it
 * answers how many replicas would still have a write after the worst crash. It sees bytes, not the engine's formats.
 */
import { tagAt, tagBytesMax, tagOpening } from './traced-value.ts';

export class DurableTags {
  /** Tag -> the nodes that hold it. */
  readonly #nodes = new Map<string, Set<string>>();

  /** Bytes `from..to - 1` of a file of `node` will survive any crash from now on; `image` is all of the file that will. */
  becameDurable(node: string, image: Buffer, from: number, to: number): void {
    // A tag may lie across the edges of the run.
    const end = Math.min(image.length, to + tagBytesMax);
    const bytes = image.subarray(Math.max(0, from - tagBytesMax), end);
    for (let at = bytes.indexOf(tagOpening); at >= 0; at = bytes.indexOf(tagOpening, at + 1)) {
      const tag = tagAt(bytes, at);
      if (tag !== undefined) this.#enter(tag, node);
    }
  }

  /** How many of `replicas` hold the tag. */
  copies(tag: string, replicas: readonly string[]): number {
    const holders = this.#nodes.get(tag);
    return holders === undefined ? 0 : replicas.filter((node) => holders.has(node)).length;
  }

  #enter(tag: string, node: string): void {
    const holders = this.#nodes.get(tag);
    if (holders === undefined) this.#nodes.set(tag, new Set([node]));
    else holders.add(node);
  }
}
