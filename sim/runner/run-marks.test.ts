import { expect, it } from 'vitest';

import type { Plan } from '../plan/plan.ts';
import { DivergenceWatch, marksOf } from './run-marks.ts';
import { runPlan } from './run.ts';
import { planOfSeed } from './task.ts';

const whole = planOfSeed('calm', 1);
const plan: Plan = {
  ...whole,
  ...{ operations: whole.operations.slice(0, 6), scrapes: [], calmUs: 1000 },
  ...{ stormUs: 300_000, floors: { durability: 0 } },
};

async function divergenceOf(changed: Plan): Promise<DivergenceWatch['divergence']> {
  const watch = new DivergenceWatch(await marksOf(plan));
  await runPlan(changed, { attach: (world) => watch.attach(world) });
  return watch.divergence;
}

it('the same plan runs as it was recorded', async () => {
  expect(await divergenceOf(plan)).toBeUndefined();
});

it('a replay says at which event it leaves the recorded run', async () => {
  const last = plan.operations.length - 1;
  const operations = plan.operations.map((one, at) =>
    at === last ? { ...one, thinkUs: one.thinkUs + 7 } : one,
  );
  const changed = { ...plan, operations };
  const traces = await Promise.all([runPlan(plan, { trace: true }), runPlan(changed, { trace: true })]);
  const [recorded = [], now = []] = traces.map(({ trace }) => trace);
  const first = now.findIndex((line, at) => line !== recorded[at]) + 1;
  const found = await divergenceOf(changed);
  expect(found?.equalEvents).toBeLessThan(first);
  expect(found?.event).toBeGreaterThanOrEqual(first);
  expect((found?.event ?? 0) - (found?.equalEvents ?? 0)).toBeLessThanOrEqual(16);
  expect(found?.lines.every((line) => now.includes(line))).toBe(true);
});
