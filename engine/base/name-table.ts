/**
 * One string for equal runs of bytes, for readers to whom the same few names come again and again: to make one anew is
 * a call out of JavaScript and an object, and two that are the same object are compared in one step.
 *
 * The table has a fixed number of places; of two names that fall to one place the later one takes it.
 */
import type { ByteString } from './ids.ts';

const placeCount = 256;
/** Names of one kind differ in their last bytes. */
const hashedBytes = 4;

export class NameTable {
  readonly #names = new Array<ByteString>(placeCount).fill('' as ByteString);

  /** The byte string of the bytes `from` up to, not including, `to`. */
  get(bytes: Buffer, from: number, to: number): ByteString {
    const place = placeOf(bytes, from, to);
    const known = this.#names[place] ?? ('' as ByteString);
    if (isAt(bytes, from, to, known)) return known;
    const name = bytes.toString('latin1', from, to) as ByteString;
    this.#names[place] = name;
    return name;
  }
}

function placeOf(bytes: Buffer, from: number, to: number): number {
  let hash = to - from;
  for (let at = Math.max(from, to - hashedBytes); at < to; at++) hash = hash * 31 + (bytes[at] ?? 0);
  return hash % placeCount;
}

function isAt(bytes: Buffer, from: number, to: number, name: ByteString): boolean {
  if (name.length !== to - from) return false;
  for (let at = from; at < to; at++) if (bytes[at] !== name.charCodeAt(at - from)) return false;
  return true;
}
