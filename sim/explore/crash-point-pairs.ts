/**
 * Pairs of crash points of one transaction: every two of different steps or different branches, each with every strike.
 * (Two strikes at one event of one node would be one strike.) Beyond a bound a sample is taken, the same for the same
 * seed.
 */
import { WorldRandom } from '../world/core/random.ts';
import type { CrashPoint } from './crash-points.ts';

/** Two crash points of one run. */
export type PointPair = readonly [first: CrashPoint, second: CrashPoint];

/** All pairs, in the order of their points. */
export function pairsOf(points: readonly CrashPoint[]): readonly PointPair[] {
  return points.flatMap((first, index) =>
    points
      .slice(index + 1)
      .filter(({ step, branch }) => step !== first.step || branch !== first.branch)
      .map((second): PointPair => [first, second]),
  );
}

/** A uniform sample of `countMax` elements in their order; all of them if there are no more. */
export function sampleOf<T>(all: readonly T[], countMax: number, seed: number): readonly T[] {
  if (all.length <= countMax) return all;
  const random = WorldRandom.root(`crash-points/${seed}`);
  // Knuth, The Art of Computer Programming, volume 2, section 3.4.2, algorithm S.
  let wanted = countMax;
  return all.filter((_, index) => {
    const taken = random.below(all.length - index) < wanted;
    if (taken) wanted -= 1;
    return taken;
  });
}
