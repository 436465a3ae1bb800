/** How long to wait before connecting again. Pure but for the draw. */
import type { Random } from '../io/random.ts';
import type { PeerBackoff } from './options.ts';

/** Microseconds to wait after `failures` failures in a row: half of the doubled wait, and a random part of the rest. */
export function backoffDelayUs({ minUs, maxUs }: PeerBackoff, failures: number, random: Random): number {
  let waitUs = minUs;
  for (let count = 0; count < failures && waitUs < maxUs; count++) waitUs = Math.min(maxUs, waitUs * 2);
  const half = Math.floor(waitUs / 2);
  return half + random.below(waitUs - half + 1);
}
