/**
 * How much a run has to compare at least: what its plan says, and what its length asks for. Every look at a node that
 * served must be an account in the books, and every scrape that was answered a text that was read.
 */
import type { ScrapeRecord } from '../workload/scrape.ts';
import type { Plan } from '../plan/plan.ts';

/** Comparisons of INV24 that one look at a node's numbers makes, at least. */
const equationsPerLook = 100;

/**
 * The plan's floors, and what INV24 and INV26 can compare of these looks: INV26 exactly each look but the first of a
 * life with the one before it, and each scrape that saw something whole.
 */
export function grownFloors(
  floors: Plan['floors'],
  looksPerLife: readonly number[],
  scrapes: readonly ScrapeRecord[],
): Plan['floors'] {
  const looks = looksPerLife.reduce((sum, count) => sum + count, 0);
  const texts = scrapes.filter(({ seen }) => seen !== undefined).length;
  const due = { INV24: equationsPerLook * looks, INV26: texts + looks - looksPerLife.length };
  const grown = { ...floors };
  for (const invariant of ['INV24', 'INV26'] as const) {
    const floor = floors[invariant];
    if (floor !== undefined) grown[invariant] = Math.max(floor, due[invariant]);
  }
  return grown;
}
