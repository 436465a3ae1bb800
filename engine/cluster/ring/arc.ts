/** Arcs of the ring of tokens: how far apart two tokens are, and what lies between them. */
import type { Token } from '../../base/ids.ts';

/** The tokens after `from` up to and including `to`, around zero if need be; the whole ring if they are equal. */
export interface TokenRange {
  readonly from: Token;
  readonly to: Token;
}

/** How far `to` lies after `from`: 1 to 2^32, a whole turn for itself. */
export function distance(from: Token, to: Token): number {
  return (to - from) >>> 0 || 2 ** 32;
}

export function isWithin({ from, to }: TokenRange, token: Token): boolean {
  return distance(from, token) <= distance(from, to);
}
