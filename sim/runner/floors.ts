/**
 * How much a run has to compare at least: what its plan says, and what its length asks for. Every look at a node that
 * served must be an account in the books, and every scrape that was answered a text that was read.
 */
import type { ScrapeRecord } from '../workload/scrape.ts';
import type { Plan } from '../plan/plan.ts';

/** Comparisons of `metrics-reconcile` that one look at a node's numbers makes, at least. */
const equationsPerLook = 100;

/**
 * The plan's floors, and what `metrics-reconcile` and `valid-exposition` can compare of these looks:
 * `valid-exposition` exactly each look but the first of a life with the one before it, and each scrape that saw
 * something whole.
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
