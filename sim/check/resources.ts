/**
 * `resource-bounds` (INV23), resources are bounded: in every sample, the resources that a node reports stay within its
 * configuration, and a node that was stopped gracefully holds nothing (leaks.ts). Each bound in each sample, and each
 * stopped node, is one comparison.
 */
import type { StopRecord } from './leaks.ts';
import { compareStops } from './leaks.ts';
import type { IncarnationAccount } from './reconcile/account.ts';
import { Numbers } from './reconcile/numbers.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** An upper bound of one gauge of a node. */
export interface Bound {
  readonly family: string;
  readonly most: number;
}

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
