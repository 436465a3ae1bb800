/**
 * `sticky-clients`: a client that keeps to one node, whatever it answers, and asks it for single copies, which it
 * could give alone. What it is told goes into the history like every client's.
 */
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import { pick } from '../../engine/io/random.ts';
import type { PlanOperation } from '../plan/plan.ts';
import type { Client } from './client.ts';

const thinkUsMax = 40_000;
const valueBytesMax = 500;
const kinds: readonly PlanOperation['kind'][] = ['put', 'put', 'put', 'get', 'get', 'delete'];

/** Asks for keys below `keyCount` until `stopped` says so. */
export async function stayLoyal(
  client: Client,
  keyCount: number,
  { clock, random }: Pick<Io, 'clock' | 'random'>,
  stopped: () => boolean,
): Promise<void> {
  for (;;) {
    await sleep(clock, random.below(thinkUsMax));
    if (stopped()) return client.leave();
    await client.perform({
      id: '',
      client: 0,
      thinkUs: 0,
      kind: pick(random, kinds),
      key: random.below(keyCount),
      valueBytes: 16 + random.below(valueBytesMax),
      need: 'one',
      context: pick(random, ['none', 'last'] as const),
    });
  }
}
