/**
 * The floors of a run: what its plan asks for, raised according to the run's length. Every sample of a serving node
 * must have an account, and every answered scrape a parsed text.
 */
import type { ScrapeRecord } from '../workload/scrape.ts';
import type { Plan } from '../plan/plan.ts';

/** Least number of comparisons of `metrics-reconcile` per account. */
const equationsPerLook = 100;

/**
 * The plan's floors, raised to what `metrics-reconcile` and `valid-exposition` can compare of these samples. For
 * `valid-exposition` that is each sample but the first of an incarnation, with the one before it, and each complete
 * scrape.
 */
export function grownFloors(
  floors: Plan['floors'],
  looksPerLife: readonly number[],
  scrapes: readonly ScrapeRecord[],
): Plan['floors'] {
  const looks = looksPerLife.reduce((sum, count) => sum + count, 0);
  const texts = scrapes.filter(({ seen }) => seen !== undefined).length;
  const due = {
    'metrics-reconcile': equationsPerLook * looks,
    'valid-exposition': texts + looks - looksPerLife.length,
  };
  const grown = { ...floors };
  for (const invariant of ['metrics-reconcile', 'valid-exposition'] as const) {
    const floor = floors[invariant];
    if (floor !== undefined) grown[invariant] = Math.max(floor, due[invariant]);
  }
  return grown;
}
