/**
 * `no-dangling-transactions` (INV3), nothing is left: when all is healed and every transaction is over, no node keeps
 * the record of a branch; nothing in its configuration has it remember one. Skipped: what cannot be read, which keeps
 * its place; and the branches of a transaction that a node which died for good has a part in, and which nobody has
 * replaced: the others wait for it; and what an operator has decided for such a coordinator, which is kept to be
 * compared with its decision.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';
import type { TransactionStep } from './transactions.ts';

export interface BranchLeft {
  readonly xid: string;
  /** `applied`, `prepared`; `damaged`: it cannot be read. */
  readonly state: string;
}

/** The records of branches on a node's disk. */
export interface BranchesLeft {
  readonly node: string;
  readonly atUs: number;
  readonly branches: readonly BranchLeft[];
}

/** `buried`: transactions that a node which died for good has a part in. */
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

/** Transactions that one of these nodes coordinated, or was asked to carry out a part of. */
export function sharedWith(lost: readonly string[], steps: readonly TransactionStep[]): ReadonlySet<string> {
  const shared = steps.filter(({ node, fields }) => {
    return lost.includes(node) || lost.includes(String(fields['to'] ?? ''));
  });
  return new Set(shared.map(({ xid }) => xid));
}
