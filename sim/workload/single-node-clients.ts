/**
 * `sticky-clients`: a client that stays with one node, whatever it answers, and asks it for single copies, which the
 * node can give alone. The history records its operations like those of every client.
 */
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import { pick } from '../../engine/io/random.ts';
import type { PlanOperation } from '../plan/plan.ts';
import type { Client } from './client.ts';

const thinkUsMax = 40_000;
const valueBytesMax = 500;
const kinds: readonly PlanOperation['kind'][] = ['put', 'put', 'put', 'get', 'get', 'delete'];

/** Performs random operations on keys below `keyCount` until `stopped` returns true. */
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
