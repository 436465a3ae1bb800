import { fileURLToPath } from 'node:url';

import { afterEach, expect, it } from 'vitest';

import type { Task } from '../task.ts';
import { Pool } from './pool.ts';

const build = fileURLToPath(new URL('../../../dist', import.meta.url));
const point: Task = {
  kind: 'crashPoints',
  points: [{ step: 'p.vote.sent', strike: 'crash', branch: 'n2' }],
};
const pools: Pool[] = [];

afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close();
});

function poolOf(workersMax: number): Pool {
  const pool = new Pool(build, workersMax);
  pools.push(pool);
  return pool;
}

it('no more workers are started than there are tasks, and those there are perform the next ones', async () => {
  const pool = poolOf(50);
  const digests: string[] = [];
  for (const tasks of [[], [point], [point, point]]) {
    await pool.performAll(tasks.values(), (_, answer) => {
      if (answer.kind === 'struck') digests.push(answer.result.digest);
    });
    expect(pool.workerCount).toBe(tasks.length);
  }
  expect(digests).toHaveLength(3);
  expect(new Set(digests).size).toBe(1);
});

it('no more workers are started than there may be', async () => {
  const pool = poolOf(1);
  let answers = 0;
  await pool.performAll([point, point].values(), () => {
    answers += 1;
  });
  expect([answers, pool.workerCount]).toEqual([2, 1]);
});
