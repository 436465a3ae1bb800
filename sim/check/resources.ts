/**
 * `resource-bounds` (INV23), resources are bounded: at every look, what a node says that it holds is within what its
 * configuration allows; and a node that was stopped in order holds nothing (leaks.ts). Each bound at each look, and
 * each stopped node, is one comparison.
 */
import type { StopRecord } from './leaks.ts';
import { compareStops } from './leaks.ts';
import type { IncarnationAccount } from './reconcile/account.ts';
import { Numbers } from './reconcile/numbers.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** A gauge of a node may not exceed this. */
export interface Bound {
  readonly family: string;
  readonly most: number;
}

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
