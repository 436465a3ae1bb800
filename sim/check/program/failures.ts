/**
 * `no-silent-failures` (INV32), no failure passes unnoticed: no spawned task of any incarnation failed, no promise was
 * rejected without a handler, no node answered a bug of its own program as `Internal`, and the world itself met no
 * contradiction. Each incarnation is one comparison, and so is the run as a whole.
 */
import { invariant } from '../invariant.ts';
import type { BadEvent, CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** One incarnation of a node, from its start to its crash, its stop or the end of the run. */
export interface IncarnationRecord {
  readonly node: string;
  readonly life: number;
  /** Failed tasks, as the ports counted them. */
  readonly failedTasks: number;
  /** Its end. */
  readonly atUs: number;
  /** Its end took what was not synced: its machine lost power. */
  readonly lostUnsynced?: boolean;
}

/** All incarnations, and every failure that any of them, or the world, recorded. */
export interface FailureEvidence {
  readonly incarnations: readonly IncarnationRecord[];
  readonly failures: readonly BadEvent[];
}

/** The row of `no-silent-failures`. */
export const noSilentFailuresRow = invariant({
  name: 'no-silent-failures',
  code: 'INV32',
  promise: 'no task of a node fails unseen',
  gravity: 'availability',
  breach: 'a part of a node has stopped and nothing tells of it',
  needs: [],
  everydayFloor: 4,
  check: ({ incarnations, failures }: FailureEvidence) => checkFailures(incarnations, failures),
});

/** Checks the incarnations, and the failures of the run as a whole. */
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
