/**
 * `resource-bounds` (INV23), resources are bounded: in every sample, the resources that a node reports stay within its
 * configuration, and a node that was stopped gracefully holds nothing (leaks.ts). Each bound in each sample, and each
 * stopped node, is one comparison.
 */
import type { StopRecord } from './leaks.ts';
import { compareStops } from './leaks.ts';
import type { IncarnationAccount } from '../metrics/reconcile/account.ts';
import { Numbers } from '../metrics/reconcile/numbers.ts';
import type { SlowReading } from '../../evidence/slow-reading.ts';
import type { LargeAnswer, ReadMemoryEntry, ReadMemoryRest } from './read-memory.ts';
import { checkReadMemory } from './read-memory.ts';
import { checkSlowReaders } from './slow-readers.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally } from '../report.ts';

/** An upper bound of one gauge of a node. */
export interface Bound {
  readonly family: string;
  readonly most: number;
}

/** What nodes used, and what they may use. */
export interface ResourceEvidence {
  readonly stops: readonly StopRecord[];
  readonly accounts: readonly IncarnationAccount[];
  readonly boundsOf: (node: string) => readonly Bound[];
  readonly readMemory: {
    readonly entries: readonly ReadMemoryEntry[];
    readonly rests: readonly ReadMemoryRest[];
    readonly answers: readonly LargeAnswer[];
  };
  readonly slowReadings: readonly SlowReading[];
  /** Most bytes of requests that can have left a client that reads none of its replies. */
  readonly bytesHeldMax: number;
}

/** The row of `resource-bounds`. */
export const resourceBoundsRow = invariant({
  name: 'resource-bounds',
  code: 'INV23',
  promise: 'queues, memory and handles stay within limits',
  gravity: 'availability',
  breach: 'a node grows until it fails, or leaks timers, files or locks',
  needs: [],
  everydayFloor: 100,
  check: (run: ResourceEvidence) =>
    joinReports(
      checkReadMemory(run.readMemory.entries, run.readMemory.rests, run.readMemory.answers),
      checkResources(run.stops, run.accounts, run.boundsOf),
      checkSlowReaders(run.slowReadings, run.bytesHeldMax),
    ),
});

/** Checks stops and accounts; `boundsOf`: the bounds of a node's gauges. */
export function checkResources(
  stops: readonly StopRecord[],
  accounts: readonly IncarnationAccount[],
  boundsOf: (node: string) => readonly Bound[],
): CheckReport {
  const tally = new Tally('resource-bounds');
  compareStops(stops, tally);
  for (const account of accounts) {
    const numbers = new Numbers(account);
    for (const { family, most } of boundsOf(account.node)) {
      const value = numbers.sum(family);
      tally.compare(value <= most, account.atUs, () => {
        return `${account.node}, life ${account.life}: ${family} is ${value}, ${most} are allowed`;
      });
    }
  }
  return tally.report();
}
