import { describe, expect, it } from 'vitest';

import type { CrashPointResult } from './crash-points.ts';
import { allCrashPoints, describePoint, runCrashPoints } from './crash-points.ts';

/** The violations and faults of a run as texts; empty if there are none. */
function wrongs({ points, struck, reports, faults }: CrashPointResult): readonly string[] {
  const missed = struck < points.length ? ['the step was never reached'] : [];
  const broken = reports.flatMap(({ invariant, reasons }) =>
    reasons.map((reason) => `${invariant}: ${reason}`),
  );
  return [...missed, ...faults, ...broken];
}

describe('a transaction struck at every step', () => {
  const points = allCrashPoints();
  const perStep = 12;

  it('has 23 steps, 4 strikes and 3 branches', () => {
    expect(points).toHaveLength(23 * 4 * 3);
  });

  // The other half differs in the strike or the branch: `lockstep-sim enumerate xa` runs all.
  it('is atomic, and leaves nothing in doubt, at every step under half of the strikes', async () => {
    const stories: string[] = [];
    for (const point of points.filter((_, index) => (index + Math.floor(index / perStep)) % 2 === 0)) {
      const found = wrongs(await runCrashPoints([point]));
      if (found.length > 0) stories.push(`${describePoint(point)}: ${found.join('; ')}`);
    }
    expect(stories).toEqual([]);
  });

  it('is struck the same way twice', async () => {
    const [point] = points.filter(({ step }) => step === 'p.applied');
    if (point === undefined) throw new Error('there is no such point');
    const [first, second] = [await runCrashPoints([point]), await runCrashPoints([point])];
    expect(first.digest).toBe(second.digest);
  });
});
