/** Tests of YCSB's workloads and of the load at a fixed rate. */
import { expect, test } from 'vitest';

import { WorldRandom } from '../../world/core/random.ts';
import { openLoop } from './open-loop.ts';
import { YcsbOperations, ycsbWorkloads, Zipfian } from './workloads.ts';

test('Zipfian ranks have the probabilities of the distribution', () => {
  const ranks = new Zipfian(1000, WorldRandom.root('zipf'));
  const counts = new Map<number, number>();
  const draws = 200_000;
  for (let draw = 0; draw < draws; draw++) {
    const rank = ranks.next();
    counts.set(rank, (counts.get(rank) ?? 0) + 1);
  }
  expect(Math.max(...counts.keys())).toBeLessThan(1000);
  const shareOf = (rank: number): number => (counts.get(rank) ?? 0) / draws;
  // 1 / zeta(1000, 0.99) = 0.1294; the second has 2^-0.99 of the first.
  expect(shareOf(0)).toBeCloseTo(0.1294, 2);
  expect(shareOf(1) / shareOf(0)).toBeCloseTo(0.503, 1);
});

test.each(ycsbWorkloads)('workload $name has its shares', (workload) => {
  const operations = new YcsbOperations(workload, 1000, WorldRandom.root(workload.name));
  const counts = { read: 0, write: 0, readModifyWrite: 0 };
  const count = 20_000;
  for (let one = 0; one < count; one++) {
    const { kind, key } = operations.next();
    counts[kind] += 1;
    expect(key).toBeGreaterThanOrEqual(0);
    if (workload.rest !== 'insert') expect(key).toBeLessThan(1000);
  }
  expect(counts.read / count).toBeCloseTo(workload.reads / 100, 1);
  expect(counts.readModifyWrite > 0).toBe(workload.rest === 'readModifyWrite');
});

test('an operation that waits for a lane is charged for the wait', async () => {
  let open = 0;
  let most = 0;
  const { due, done, latenciesUs, errors } = await openLoop(1000, 0.05, 1, async (lane) => {
    expect(lane).toBe(0);
    most = Math.max(most, (open += 1));
    await new Promise((resolve) => setTimeout(resolve, 4));
    open -= 1;
  });
  expect([due, done, errors.size, most]).toEqual([50, 50, 0, 1]);
  // The last one was due after 49 ms, and began after 49 others of 4 ms each.
  expect(Math.max(...latenciesUs)).toBeGreaterThan((50 * 4 - 50) * 1000);
});

test('a failed operation is an error and no latency', async () => {
  const { done, errors } = await openLoop(1000, 0.01, 2, () => Promise.reject(new Error('refused')));
  expect([done, [...errors]]).toEqual([0, [['refused', 10]]]);
});
