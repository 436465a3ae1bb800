/**
 * Orders of delivery that drawn latencies hardly bring about.
 *
 * - Priorities (PCT; Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", 2010):
 *   each host has a priority, and the lower it is the longer its packets take. At `depth - 1` random packets a host
 *   falls behind all others. A fault of the engine that needs `depth` orderings between hosts is met with a chance that
 *   falls with the number of hosts and packets to the power of `depth - 1`, not with the number of interleavings.
 * - Bounded delays: a few packets of one host in a row take long, all others the usual time.
 */
import { pick } from '../../engine/io/random.ts';
import type { Random } from '../../engine/io/random.ts';
import type { PlanPace } from '../plan/plan.ts';

/** The largest depth that is drawn. */
export const depthMax = 4;

/** How long packets of the highest priority take; each lower one takes twice as long. */
const quickestUs = 150;
/** The slowest rank: with more hosts, some share one. */
const rankMax = 7;
/** Change points lie among so many packets of a host. */
const packetsMax = 600;
const delaysUs = [5_000, 40_000, 250_000, 900_000] as const;
const delayedMax = 4;

/** An order, and its text for people. */
export interface Order {
  readonly paces: readonly PlanPace[];
  readonly text: string;
}

/** Priorities of hosts that change at `depth - 1` packets. */
export function priorities(hosts: readonly string[], random: Random): Order {
  const depth = 1 + random.below(depthMax);
  const left = [...hosts];
  const paces: PlanPace[] = [];
  for (let rank = 0; left.length > 0; rank++) {
    const [host = ''] = left.splice(random.below(left.length), 1);
    paces.push({ host, packet: 0, delayUs: quickestUs << Math.min(rank, rankMax) });
  }
  for (let change = 1; change < depth; change++) {
    const delayUs = quickestUs << (rankMax + change);
    paces.push({ host: pick(random, hosts), packet: 1 + random.below(packetsMax), delayUs });
  }
  return { paces, text: `priorities of hosts, depth ${depth}` };
}

/** One to four packets of one host that take long. */
export function delays(hosts: readonly string[], random: Random): Order {
  const host = pick(random, hosts);
  const packet = random.below(packetsMax);
  const count = 1 + random.below(delayedMax);
  const delayUs = pick(random, delaysUs);
  return {
    paces: [
      { host, packet, delayUs },
      { host, packet: packet + count, delayUs: 0 },
    ],
    text: `${count} packets of ${host} from ${packet} on take ${delayUs / 1000} ms`,
  };
}
