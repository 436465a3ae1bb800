/**
 * From names to tokens: MurmurHash3 (x86, 32 bit, seed 0; Appleby 2011) of the route bytes, as Dynomite's `murmur3`.
 */
import murmurHash3 from 'murmurhash3js-revisited';

import type { ByteString, NodeId, Token } from '../base/ids.ts';
import { byteStringOf, bytesOf } from '../base/ids.ts';

/** How a bucket's keys are routed. */
export type Keyfun = 'STD' | 'BUCKETONLY' | 'CUSTOM';

export const keyfuns: readonly Keyfun[] = ['STD', 'BUCKETONLY', 'CUSTOM'];

const separator = byteStringOf('/');

/** The token of some route bytes. */
export function tokenOf(routeBytes: Uint8Array): Token {
  return murmurHash3.x86.hash32(routeBytes) as Token;
}

/** Where a key lives: `STD` hashes `<bucket>/<key>`, `BUCKETONLY` hashes `<bucket>`. */
export function routeToken(keyfun: 'STD' | 'BUCKETONLY', bucket: ByteString, key: ByteString): Token {
  const route = keyfun === 'STD' ? ((bucket + separator + key) as ByteString) : bucket;
  return tokenOf(bytesOf(route));
}

/** The tokens of a node that was given none: the hashes of `<name>#0`, `<name>#1`, …, ascending and distinct. */
export function tokensOfNode(node: NodeId, count: number): readonly Token[] {
  const tokens = new Set<Token>();
  for (let index = 0; tokens.size < count; index++) tokens.add(tokenOf(Buffer.from(`${node}#${index}`)));
  return [...tokens].sort((left, right) => left - right);
}
