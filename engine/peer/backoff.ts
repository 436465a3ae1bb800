/** The wait before a link connects again. Pure but for the random draw. */
import type { Random } from '../io/random.ts';
import type { PeerBackoff } from './options.ts';

/**
 * Microseconds to wait after `failures` failures in a row. The wait doubles from `minUs` to `maxUs` with each failure;
 * the result is half of it plus a random part of the other half.
 */
export function backoffDelayUs({ minUs, maxUs }: PeerBackoff, failures: number, random: Random): number {
  let waitUs = minUs;
  for (let count = 0; count < failures && waitUs < maxUs; count++) waitUs = Math.min(maxUs, waitUs * 2);
  const half = Math.floor(waitUs / 2);
  return half + random.below(waitUs - half + 1);
}
