/**
 * One string for equal runs of bytes, for readers to whom the same few names come again and again: to make one anew is
 * a call out of JavaScript and an object, and two that are the same object are compared in one step.
 *
 * The table has a fixed number of places; of two names that fall to one place the later one takes it, and what is too
 * long for a place is made anew each time.
 */
import type { ByteString } from './ids.ts';

const placeCount = 256;
const nameBytesMax = 32;
/** Names of one kind differ in their last bytes. */
const hashedBytes = 4;

export class NameTable {
  readonly #names = new Array<ByteString>(placeCount).fill('' as ByteString);
  /** Their bytes, which are compared faster than characters. */
  readonly #bytes = new Uint8Array(placeCount * nameBytesMax);

  /** The byte string of the bytes `from` up to, not including, `to`. */
  get(bytes: Buffer, from: number, to: number): ByteString {
    const place = placeOf(bytes, from, to);
    const known = this.#names[place];
    if (known?.length === to - from && this.#isAt(place, bytes, from, to)) return known;
    const name = bytes.toString('latin1', from, to) as ByteString;
    if (name.length <= nameBytesMax) {
      this.#names[place] = name;
      bytes.copy(this.#bytes, place * nameBytesMax, from, to);
    }
    return name;
  }

  #isAt(place: number, bytes: Buffer, from: number, to: number): boolean {
    const start = place * nameBytesMax - from;
    const own = this.#bytes;
    for (let at = from; at < to; at++) if (bytes[at] !== own[start + at]) return false;
    return true;
  }
}

function placeOf(bytes: Buffer, from: number, to: number): number {
  let hash = to - from;
  for (let at = Math.max(from, to - hashedBytes); at < to; at++) hash = hash * 31 + (bytes[at] ?? 0);
  return hash % placeCount;
}
