/**
 * Short names in base 62: the tag of a version (Riak's vtag, HTTP's ETag), and keys that the server makes.
 *
 * A vtag is 12 digits of a hash of the sibling's dot. It differs from Riak's, which hashes the node and the moment:
 * the same version has the same vtag on every replica, and after every restart.
 */
import { createHash, hash } from 'node:crypto';
import type { ByteString } from '../base/ids.ts';
import type { Random } from '../io/random.ts';
import type { Dot, VersionVector } from '../replica/object/dots.ts';
import type { Sibling } from '../replica/object/object.ts';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The tag of one version: 12 characters of `[0-9A-Za-z]`. */
export function vtagOf(dot: Dot): string {
  return tagOf(`${dot.counter}:${dot.actor}`);
}

/** How several siblings are shown: the list of their tags, or all of them in one answer. */
export type SiblingsForm = 'list' | 'parts';

/** The tag of an object with several siblings in that form, by all that it has seen. */
export function contextTagOf(context: VersionVector, form: SiblingsForm): string {
  // The first word keeps it apart from the tag of any one version.
  const word = form === 'list' ? 'several' : 'parts';
  return tagOf([word, ...context.map((entry) => `${entry.counter}:${entry.actor}`)].join('\n'));
}

/** What separates these siblings in one answer: 24 characters of `[0-9A-Za-z]` that follow from all their bytes. */
export function partsBoundaryOf(siblings: readonly Sibling[]): string {
  const digest = createHash('sha1');
  for (const { dot, value } of siblings) digest.update(`${vtagOf(dot)}:${value.length}:`).update(value);
  const bytes = digest.digest();
  return [0, 4, 8, 12].map((at) => base62(bytes.readUInt32BE(at))).join('');
}

/** A key that no other call makes: 24 characters of `[0-9A-Za-z]` from 128 random bits. */
export function makeKey(random: Random): ByteString {
  return (base62(random.u32()) +
    base62(random.u32()) +
    base62(random.u32()) +
    base62(random.u32())) as ByteString;
}

function tagOf(text: string): string {
  // A character for each byte: cheaper to take apart than hexadecimal digits.
  const digest = hash('sha1', text, 'binary');
  return base62(u32At(digest, 0)) + base62(u32At(digest, 4));
}

/** Four characters as a big-endian number. */
function u32At(bytes: string, at: number): number {
  const low = (bytes.charCodeAt(at + 1) << 16) | (bytes.charCodeAt(at + 2) << 8) | bytes.charCodeAt(at + 3);
  return bytes.charCodeAt(at) * 0x1000000 + low;
}

/** Six digits of an unsigned 32-bit integer, at once: strings that grow by a digit cost three times as much. */
function base62(value: number): string {
  return String.fromCharCode(
    digitCode(value / 62 ** 5),
    digitCode(value / 62 ** 4),
    digitCode(value / 62 ** 3),
    digitCode(value / 62 ** 2),
    digitCode(value / 62),
    digitCode(value),
  );
}

/** Of the last digit of the whole part. */
function digitCode(value: number): number {
  return digits.charCodeAt(Math.floor(value) % 62);
}
