/** Arcs of the token ring: the distance between two tokens, and what lies between them. */
import type { Token } from '../../base/ids.ts';

/** The tokens after `from` up to and including `to`, across zero if need be. All tokens if they are equal. */
export interface TokenRange {
  readonly from: Token;
  readonly to: Token;
}

/** How far `to` is after `from`: 1 to 2^32, a whole turn for itself. */
export function distance(from: Token, to: Token): number {
  return (to - from) >>> 0 || 2 ** 32;
}

/** True if the range includes the token. */
export function isWithin({ from, to }: TokenRange, token: Token): boolean {
  return distance(from, token) <= distance(from, to);
}
