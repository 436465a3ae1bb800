/**
 * Short names in base 62: the tag of a version (Riak's vtag, HTTP's ETag), and keys that the server makes.
 *
 * A vtag is 12 digits of a hash of the sibling's dot. It differs from Riak's, which hashes the node and the moment:
 * the same version has the same vtag on every replica, and after every restart.
 */
import { hash } from 'node:crypto';
import type { ByteString } from '../base/ids.ts';
import type { Random } from '../io/random.ts';
import type { Dot, VersionVector } from '../object/dots.ts';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^6 > 2^32. */
const digitsOfU32 = 6;

/** The tag of one version: 12 characters of `[0-9A-Za-z]`. */
export function vtagOf(dot: Dot): string {
  return tagOf(`${dot.counter}:${dot.actor}`);
}

/** The tag of an object with several siblings, by all that it has seen. */
export function contextTagOf(context: VersionVector): string {
  // The first word keeps it apart from the tag of any one version.
  return tagOf(['several', ...context.map((entry) => `${entry.counter}:${entry.actor}`)].join('\n'));
}

/** A key that no other call makes: 24 characters of `[0-9A-Za-z]` from 128 random bits. */
export function makeKey(random: Random): ByteString {
  return (base62(random.u32()) +
    base62(random.u32()) +
    base62(random.u32()) +
    base62(random.u32())) as ByteString;
}

function tagOf(text: string): string {
  const digest = hash('sha1', text, 'hex');
  return base62(Number.parseInt(digest.slice(0, 8), 16)) + base62(Number.parseInt(digest.slice(8, 16), 16));
}

/** Six digits of an unsigned 32-bit integer. */
function base62(value: number): string {
  let text = '';
  let rest = value;
  for (let count = 0; count < digitsOfU32; count++) {
    text = digits.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
