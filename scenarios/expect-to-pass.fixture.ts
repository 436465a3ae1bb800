/** Expects the run of a plan to pass. */
import { expect } from 'vitest';

import type { Plan } from '../sim/plan/plan.ts';
import { judgeRun } from '../sim/runner/task.ts';
import type { Twice } from '../sim/runner/twice.ts';

/**
 * Resolves with the cells of coverage that the run reached. Fails with what a person needs: the invariant, the first bad
 * event, and how to replay it (`replay`: the arguments of that command).
 */
export async function expectToPass(plan: Plan, replay: string, twice: Twice): Promise<readonly string[]> {
  const { result, reached } = await judgeRun(plan, () => 0, [], twice);
  const broken = result.reports.filter((report) => !report.ok);
  const account = broken.map(({ invariant, reasons }) => `${invariant}: ${reasons.join('\n  ')}`).join('\n');
  expect(result.verdict, `${account}\n${result.because}\nreplay: lockstep-sim replay ${replay}`).toBe(
    'passed',
  );
  return reached;
}
