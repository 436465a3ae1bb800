/**
 * Values that can be traced: each begins with a unique tag, and continues with padding computed from the tag. A value
 * read back names its write and shows every changed byte, and a disk can be searched for it.
 */
import { bufferOf } from '../../engine/base/ids.ts';

const open = '«w:';
const close = '»';

/** The bytes that every tag begins with, for which disks are searched. */
const tagOpening = Buffer.from(open);
const tagClosing = Buffer.from(close);
const firstByte = tagOpening[0];

/** Longest tag in bytes. */
export const tagBytesMax = 64;

/** `«w:c0:17»`: write number 17 of the client `c0`, counted from 0. */
export function tagOf(client: string, count: number): string {
  return `${open}${client}:${count}${close}`;
}

/** The value of a tag: the tag, and padding up to `bytes` (a tag is never cut). */
export function makeValue(tag: string, bytes: number): Buffer {
  const head = Buffer.from(tag);
  const value = Buffer.allocUnsafe(Math.max(bytes, head.length));
  head.copy(value);
  let state = paddingOf(tag);
  for (let at = head.length; at < value.length; at++) {
    state = nextState(state);
    value[at] = state & 0xff;
  }
  return value;
}

/** The tag of an unchanged value of `makeValue`; otherwise a text that is not a tag and says what is wrong. */
export function readTag(value: Uint8Array): string {
  const bytes = bufferOf(value);
  const tag = tagAt(bytes, 0);
  if (tag === undefined) return `(no tag: ${bytes.subarray(0, 16).toString('hex')})`;
  let state = paddingOf(tag);
  for (let at = Buffer.byteLength(tag); at < bytes.length; at++) {
    state = nextState(state);
    if (bytes[at] !== (state & 0xff)) return `(changed: ${tag})`;
  }
  return tag;
}

/** The whole tag that begins at `at`; undefined if there is none, or its end is missing. */
export function tagAt(bytes: Buffer, at: number): string | undefined {
  const end = endOfTag(bytes, at, bytes.length);
  return end === 0 ? undefined : bytes.toString('utf8', at, end);
}

/** Where the whole tag that begins at `at` ends, at most `until`; 0 if there is none, or its end is missing. */
export function endOfTag(bytes: Buffer, at: number, until: number): number {
  if (!opensAt(bytes, at)) return 0;
  const last = Math.min(until, at + tagBytesMax) - tagClosing.length;
  for (let end = at + tagOpening.length; end <= last; end++) {
    if (bytes[end] === tagClosing[0] && bytes[end + 1] === tagClosing[1]) return end + tagClosing.length;
  }
  return 0;
}

/** Where the next tag begins, from `from` on and before `until`; -1 if there is none. */
export function nextTag(bytes: Buffer, from: number, until: number): number {
  if (until - from > shortBytesMax) {
    const at = bytes.subarray(0, until).indexOf(tagOpening, from);
    return at < until ? at : -1;
  }
  // Short runs are searched byte by byte, which is faster than a call out of JavaScript.
  for (let at = from; at < until; at++) if (bytes[at] === firstByte && opensAt(bytes, at)) return at;
  return -1;
}

function opensAt(bytes: Buffer, at: number): boolean {
  for (let index = 0; index < tagOpening.length; index++) {
    if (bytes[at + index] !== tagOpening[index]) return false;
  }
  return true;
}

const shortBytesMax = 512;

/** The state from which the padding of a tag begins: its FNV-1a hash. */
function paddingOf(tag: string): number {
  let state = 0x811c9dc5;
  for (let at = 0; at < tag.length; at++) state = Math.imul(state ^ tag.charCodeAt(at), 0x01000193);
  // Zero would stay zero for ever.
  return state === 0 ? 1 : state;
}

/** Marsaglia's xorshift ("Xorshift RNGs", 2003); the lowest byte is the next byte of the padding. */
function nextState(state: number): number {
  let next = state ^ (state << 13);
  next ^= next >>> 17;
  return next ^ (next << 5);
}
