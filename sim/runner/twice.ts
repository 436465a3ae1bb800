/**
 * Which runs are made twice to check `determinism`. A second run costs as much as the first, and non-determinism shows
 * in many seeds or in none, so that exploring many seeds needs the second run for some of them only.
 */
import { createHash } from 'node:crypto';

/** `all`: every run that asks for `determinism`. `eighth`: an eighth of the seeds, chosen by the seed. */
export const twiceChoices = ['eighth', 'all'] as const;
/** One of these choices. */
export type Twice = (typeof twiceChoices)[number];

/** Whether the run of this scenario's seed is made twice. The same everywhere: it depends on nothing else. */
export function isRunTwice(scenario: string, seed: number, twice: Twice): boolean {
  if (twice === 'all') return true;
  return (createHash('sha256').update(`twice/${scenario}/${seed}`).digest()[0] ?? 0) % 8 === 0;
}
