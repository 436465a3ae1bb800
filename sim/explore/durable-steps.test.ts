/** A bounded slice of `lockstep-sim enumerate`: the command makes all of it. */
import { describe, expect, it } from 'vitest';

import { sampleOf } from './crash-point-pairs.ts';
import { describeSubjectPoint, pointsOf, runDurableStep } from './durable-steps.ts';
import { stepStrikes } from './step-harness.ts';
import { stepSubjects } from './step-subjects.ts';

describe('what saves', () => {
  it.each([
    ['store-merge', 'merge', 6],
    ['properties', 'properties', 2],
    ['snapshots', 'snapshot', 2],
    ['transactions', 'two-phase', 2],
  ])('keeps %s %s through any strike at any step', async (subject, play, count) => {
    const plain = await runDurableStep({ subject, play, point: undefined });
    expect(plain.faults).toEqual([]);
    const points = pointsOf(plain);
    // Only a merge reads from the disk here.
    const strikes = stepStrikes.filter((strike) => subject === 'store-merge' || strike !== 'failing-reads');
    expect(new Set(points.map(({ point }) => point?.strike))).toEqual(new Set(strikes));
    expect(new Set(points.map(describeSubjectPoint)).size).toBe(points.length);
    for (const at of sampleOf(points, count, 1)) {
      const { struck, faults } = await runDurableStep(at);
      expect([describeSubjectPoint(at), struck, faults]).toEqual([describeSubjectPoint(at), true, []]);
    }
  });

  // The primary's batch may be durable although its sync failed: until its next start, no node knows the outcome.
  it('ends a transaction in one phase as its client was told, whatever sync of a primary fails', async () => {
    const plain = await runDurableStep({ subject: 'transactions', play: 'one-phase', point: undefined });
    const points = pointsOf(plain).filter(
      ({ point }) => point?.strike === 'failing-sync' && point.node === 'n2',
    );
    expect(points.length).toBeGreaterThan(2);
    for (const at of points) {
      const { struck, faults } = await runDurableStep(at);
      expect([describeSubjectPoint(at), struck, faults]).toEqual([describeSubjectPoint(at), true, []]);
    }
  });

  it('drops the inputs of a merge only if every copy can be read back', async () => {
    const point = {
      ...{ node: 'n1', operation: 'read', path: 'store/00000004.hint', nth: 1 },
      strike: 'failing-reads',
    } as const;
    const { struck, faults } = await runDurableStep({ subject: 'store-merge', play: 'merge', point });
    expect([struck, faults]).toEqual([true, []]);
  });

  // Its gossip goes on comparing modules; a store that takes none is no fault of the program.
  it('lets a node whose disk is full learn modules later', async () => {
    const point = {
      node: 'n3',
      operation: 'write',
      path: 'store/00000001.log',
      nth: 1,
      strike: 'full-disk',
    } as const;
    const { struck, faults } = await runDurableStep({ subject: 'properties', play: 'modules', point });
    expect([struck, faults]).toEqual([true, []]);
  });

  it('has a subject and a play of each name once', () => {
    const names = stepSubjects.flatMap(({ name, plays }) => plays.map((play) => `${name} ${play.name}`));
    expect(new Set(names).size).toBe(names.length);
  });
});
