/**
 * `no-silent-failures` (INV32), nothing fails in silence: no spawned task of any life of any node ended in an error,
 * no promise was rejected without a handler, and the world itself met no contradiction. Each life of each node is one
 * comparison, the run as a whole another.
 */
import type { BadEvent, CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** One life of one node, from its start to its crash, stop or the end of the run. */
export interface IncarnationRecord {
  readonly node: string;
  readonly life: number;
  /** Failed tasks, by the doors' own count. */
  readonly failedTasks: number;
  readonly atUs: number;
}

export function checkFailures(
  lives: readonly IncarnationRecord[],
  failures: readonly BadEvent[],
): CheckReport {
  const tally = new Tally('no-silent-failures');
  for (const { node, life, failedTasks, atUs } of lives) {
    tally.compare(failedTasks === 0, atUs, () => `${node}, life ${life}: ${failedTasks} tasks failed`);
  }
  if (failures.length === 0) tally.compare(true, 0, () => '');
  for (const failure of failures) tally.compare(false, failure.atUs, () => failure.text);
  return tally.report();
}
