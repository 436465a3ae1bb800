/** How rare the cells of coverage are that a run reached. */
import type { Coverage } from '../coverage/coverage.ts';

/** A cell is rare while so many runs at most have reached it. */
const rareRunsMax = 3;
/** Cells beyond this sum of rarities make a run no likelier to be chosen. */
const rarityMax = 4;

/** Those of the cells that are rare now; the coverage counts their run already. */
export function rareOf(cells: readonly string[], coverage: Coverage): readonly string[] {
  return cells.filter((id) => coverage.runsOf(id) <= rareRunsMax);
}

/** From 0 to 1. A cell counts by the square of its rarity. */
export function rarityOf(cells: readonly string[], coverage: Coverage): number {
  const sum = cells.reduce((rarity, id) => rarity + 1 / coverage.runsOf(id) ** 2, 0);
  return Math.min(sum, rarityMax) / rarityMax;
}
