/**
 * `no-dangling-transactions` (INV3), no records left. After the heal, when every transaction is over, no node holds a
 * branch record. The plan's configuration must not tell nodes to remember any.
 *
 * Skipped: unreadable records, which stay where they are. Branches of a transaction with a participant that died for
 * good and was not replaced: the other branches wait for it. An operator's decision on behalf of such a coordinator,
 * which the node keeps to compare it with the coordinator's own.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';
import type { TransactionStep } from './transactions.ts';

/** The record of one branch. */
export interface BranchLeft {
  readonly xid: string;
  /** `applied`, `prepared`, or `damaged` if it cannot be read. */
  readonly state: string;
}

/** The branch records on one node's disk. */
export interface BranchesLeft {
  readonly node: string;
  readonly atUs: number;
  readonly branches: readonly BranchLeft[];
}

/** `buried`: transactions with a participant that died for good. */
export function checkNothingLeft(
  left: readonly BranchesLeft[],
  buried: ReadonlySet<string> = new Set(),
): CheckReport {
  const tally = new Tally('no-dangling-transactions');
  for (const { node, atUs, branches } of left) {
    const excused = ({ xid, state }: BranchLeft): boolean => state === 'damaged' || buried.has(xid);
    const kept = branches.filter((branch) => !excused(branch));
    for (let count = branches.length - kept.length; count > 0; count--) tally.skip();
    tally.compare(kept.length === 0, atUs, () => {
      const shown = kept.slice(0, 3).map(({ xid, state }) => `${xid} ${state}`);
      return `${node} keeps ${kept.length} records of branches: ${shown.join(', ')}`;
    });
  }
  return tally.report();
}

/** Transactions that one of these nodes coordinated or had a branch of. */
export function sharedWith(lost: readonly string[], steps: readonly TransactionStep[]): ReadonlySet<string> {
  const shared = steps.filter(({ node, fields }) => {
    return lost.includes(node) || lost.includes(String(fields['to'] ?? ''));
  });
  return new Set(shared.map(({ xid }) => xid));
}
