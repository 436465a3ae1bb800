/**
 * A cache of byte strings: returns one string object for equal bytes, for readers that decode the same few names again
 * and again. Creating a string is a call out of JavaScript, and comparing a string object with itself takes one step.
 *
 * The table has a fixed number of slots. Of two names that hash to one slot the later one takes it. Names longer than a
 * slot are created anew on each call.
 */
import type { ByteString } from './ids.ts';

const placeCount = 256;
const nameBytesMax = 32;
/** Only the last bytes are hashed: names of one kind differ there. */
const hashedBytes = 4;

/** The cache. Never wrong, whatever it evicts: a slot is compared byte for byte before it is used. */
export class NameTable {
  readonly #names = new Array<ByteString>(placeCount).fill('' as ByteString);
  /** The cached names' bytes; comparing bytes is faster than comparing characters. */
  readonly #bytes = new Uint8Array(placeCount * nameBytesMax);

  /** The byte string of the bytes from `from` (inclusive) to `to` (exclusive). */
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
