/** Computes tokens: MurmurHash3 (x86, 32 bit, seed 0; Appleby 2011) of the route bytes, as Dynomite's `murmur3`. */
import murmurHash3 from 'murmurhash3js-revisited';

import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import { bytesOf } from '../../base/ids.ts';

/** How a bucket's keys are routed. `CUSTOM`: by a Wasm function of the bucket (buckets/router.ts). */
export type Keyfun = 'STD' | 'BUCKETONLY' | 'CUSTOM';

/** All key functions. */
export const keyfuns: readonly Keyfun[] = ['STD', 'BUCKETONLY', 'CUSTOM'];

/** Between a bucket and a key: `/`. */
const separator = 0x2f;
const separatorBytes = Buffer.of(separator);

/** Longer routes are hashed from a buffer of their own. */
const shortRouteBytesMax = 256;
/** The route that is being hashed. */
const scratch = new Uint8Array(shortRouteBytesMax);
const scratchView = new DataView(scratch.buffer);

/** The token of route bytes. */
export function tokenOf(routeBytes: Uint8Array): Token {
  return murmurHash3.x86.hash32(routeBytes) as Token;
}

/** The token of a key: `STD` hashes `<bucket>/<key>`, `BUCKETONLY` hashes `<bucket>`. */
export function routeToken(keyfun: 'STD' | 'BUCKETONLY', bucket: ByteString, key: ByteString): Token {
  if (keyfun === 'BUCKETONLY') return tokenOf(bytesOf(bucket));
  const length = bucket.length + 1 + key.length;
  if (length > shortRouteBytesMax)
    return tokenOf(Buffer.concat([bytesOf(bucket), separatorBytes, bytesOf(key)]));
  for (let at = 0; at < bucket.length; at++) scratch[at] = bucket.charCodeAt(at);
  scratch[bucket.length] = separator;
  const keyAt = bucket.length + 1;
  for (let at = 0; at < key.length; at++) scratch[keyAt + at] = key.charCodeAt(at);
  return hashScratch(length);
}

/**
 * MurmurHash3 of the first `length` bytes of the scratch buffer. Every request hashes a route, and allocating its bytes
 * would cost three times as much.
 */
function hashScratch(length: number): Token {
  const wordsEnd = length & -4;
  let hash = 0;
  for (let at = 0; at < wordsEnd; at += 4) {
    hash ^= mixed(scratchView.getInt32(at, true));
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  let rest = 0;
  for (let at = length - 1; at >= wordsEnd; at--) rest = (rest << 8) | (scratch[at] ?? 0);
  hash ^= mixed(rest) ^ length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) as Token;
}

function mixed(word: number): number {
  const product = Math.imul(word, 0xcc9e2d51);
  return Math.imul((product << 15) | (product >>> 17), 0x1b873593);
}

/** The tokens of a node that was given none: the hashes of `<name>#0`, `<name>#1`, …, ascending and distinct. */
export function tokensOfNode(node: NodeId, count: number): readonly Token[] {
  const tokens = new Set<Token>();
  for (let index = 0; tokens.size < count; index++) tokens.add(tokenOf(Buffer.from(`${node}#${index}`)));
  return [...tokens].sort((left, right) => left - right);
}
