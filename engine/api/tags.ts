/**
 * Makes short names in base 62: the tag of a version (Riak's vtag, HTTP's ETag), and the keys that the server makes.
 *
 * A vtag is 12 digits of a hash of the sibling's dot. Riak hashes the node and the time instead. Here the same version
 * has the same vtag on every replica and after every restart.
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

/** How an answer shows several siblings: as the list of their tags, or all of them as parts. */
export type SiblingsForm = 'list' | 'parts';

/** The tag of an object with several siblings in that form, computed from its context. */
export function contextTagOf(context: VersionVector, form: SiblingsForm): string {
  // The first word keeps this tag apart from the tag of any single version.
  const word = form === 'list' ? 'several' : 'parts';
  return tagOf([word, ...context.map((entry) => `${entry.counter}:${entry.actor}`)].join('\n'));
}

/**
 * The boundary between siblings in one multipart answer: 24 characters of `[0-9A-Za-z]`, derived from all their bytes.
 */
export function partsBoundaryOf(siblings: readonly Sibling[]): string {
  const digest = createHash('sha1');
  for (const { dot, value } of siblings) digest.update(`${vtagOf(dot)}:${value.length}:`).update(value);
  const bytes = digest.digest();
  return [0, 4, 8, 12].map((at) => base62(bytes.readUInt32BE(at))).join('');
}

/** A unique key: 24 characters of `[0-9A-Za-z]` from 128 random bits. */
export function makeKey(random: Random): ByteString {
  return (base62(random.u32()) +
    base62(random.u32()) +
    base62(random.u32()) +
    base62(random.u32())) as ByteString;
}

function tagOf(text: string): string {
  // One character for each byte is cheaper to take apart than hexadecimal digits.
  const digest = hash('sha1', text, 'binary');
  return base62(u32At(digest, 0)) + base62(u32At(digest, 4));
}

/** Four characters as a big-endian number. */
function u32At(bytes: string, at: number): number {
  const low = (bytes.charCodeAt(at + 1) << 16) | (bytes.charCodeAt(at + 2) << 8) | bytes.charCodeAt(at + 3);
  return bytes.charCodeAt(at) * 0x1000000 + low;
}

/**
 * Six base-62 digits of an unsigned 32-bit integer, built at once: appending digit by digit costs three times as much.
 */
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

/** The character of the last base-62 digit of the whole part. */
function digitCode(value: number): number {
  return digits.charCodeAt(Math.floor(value) % 62);
}
