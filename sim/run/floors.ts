/**
 * How much a run has to compare at least: what its plan says, and what its length asks for. Every life that served, and
 * every scrape that was answered, is looked at, and each look makes so many comparisons.
 */
import type { InvariantId } from '../check/report.ts';
import type { ScrapeRecord } from '../load/scrape.ts';
import type { Plan } from '../plan/plan.ts';
import type { Cluster } from '../world/cluster.ts';
import type { World } from '../world/world.ts';

/** Comparisons that one look at a node's numbers makes, at least; a life may end before it has shown half of them. */
const comparisonsPerLook: Partial<Record<InvariantId, number>> = { INV24: 100, INV26: 1 };

/** Counts the lives of nodes that came to serve. */
export class LivesServed {
  count = 0;

  constructor(world: World, cluster: Cluster) {
    world.trace.on('node.started', ({ host }) => {
      if (cluster.names.includes(host)) this.count += 1;
    });
  }
}

export function grownFloors(
  floors: Plan['floors'],
  livesServed: number,
  scrapes: readonly ScrapeRecord[],
): Plan['floors'] {
  const looks = livesServed + scrapes.filter(({ seen }) => seen !== undefined).length;
  const grown: Partial<Record<InvariantId, number>> = { ...floors };
  for (const [invariant, perLook] of Object.entries(comparisonsPerLook) as [InvariantId, number][]) {
    const floor = floors[invariant];
    if (floor !== undefined) grown[invariant] = Math.max(floor, looks * perLook);
  }
  return grown;
}
