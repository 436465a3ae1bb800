/**
 * Values that can be traced: each begins with a tag of its own and goes on with a padding that follows from the tag, so
 * that a value read back names its write and shows every changed byte, and a disk can be searched for it.
 */
import { bufferOf } from '../../engine/base/ids.ts';

const open = '«w:';
const close = '»';

/** What every tag begins with, as bytes: disks are searched for it. */
export const tagOpening = Buffer.from(open);
const tagClosing = Buffer.from(close);

/** Longest tag in bytes. */
export const tagBytesMax = 64;

/** `«w:c0:17»`: the seventeenth write of the client `c0`. */
export function tagOf(client: string, count: number): string {
  return `${open}${client}:${count}${close}`;
}

/** A value of the tag: the tag, and padding up to `bytes` (a tag is never cut). */
export function makeValue(tag: string, bytes: number): Buffer {
  const head = Buffer.from(tag);
  const value = Buffer.allocUnsafe(Math.max(bytes, head.length));
  head.copy(value);
  const padding = new Padding(tag);
  for (let at = head.length; at < value.length; at++) value[at] = padding.next();
  return value;
}

/** The tag of a value that `makeValue` made, unchanged; otherwise a text that is nobody's tag and says what is wrong. */
export function readTag(value: Uint8Array): string {
  const bytes = bufferOf(value);
  const tag = tagAt(bytes, 0);
  if (tag === undefined) return `(no tag: ${bytes.subarray(0, 16).toString('hex')})`;
  const padding = new Padding(tag);
  for (let at = Buffer.byteLength(tag); at < bytes.length; at++) {
    if (bytes[at] !== padding.next()) return `(changed: ${tag})`;
  }
  return tag;
}

/** The whole tag that begins at `at`; undefined when there is none, or its end is not there. */
export function tagAt(bytes: Buffer, at: number): string | undefined {
  for (let index = 0; index < tagOpening.length; index++) {
    if (bytes[at + index] !== tagOpening[index]) return undefined;
  }
  const last = Math.min(bytes.length, at + tagBytesMax) - tagClosing.length;
  for (let end = at + tagOpening.length; end <= last; end++) {
    if (bytes[end] !== tagClosing[0] || bytes[end + 1] !== tagClosing[1]) continue;
    return bytes.toString('utf8', at, end + tagClosing.length);
  }
  return undefined;
}

/** The bytes that follow a tag: Marsaglia's xorshift ("Xorshift RNGs", 2003), begun with the tag's FNV-1a hash. */
class Padding {
  #state = 0x811c9dc5;

  constructor(tag: string) {
    for (let at = 0; at < tag.length; at++) {
      this.#state = Math.imul(this.#state ^ tag.charCodeAt(at), 0x01000193);
    }
    // Zero would stay zero for ever.
    this.#state = this.#state === 0 ? 1 : this.#state;
  }

  next(): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return state & 0xff;
  }
}
