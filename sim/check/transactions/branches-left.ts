/**
 * `no-dangling-transactions` (INV3), no records left. After the heal, when every transaction is over, no node holds a
 * branch record. The plan's configuration must not tell nodes to remember any.
 *
 * Skipped: unreadable records, which stay where they are. Branches of a transaction with a participant that died for
 * good and was not replaced: the other branches wait for it. An operator's decision on behalf of such a coordinator,
 * which the node keeps to compare it with the coordinator's own.
 */
import type {
  BranchesLeft,
  BranchLeft,
  TransactionEvidence,
  TransactionFindings,
  TransactionStep,
} from './transactions.ts';
import { checkRecordsKept } from './remembered.ts';
import { decidedHeuristically } from './operator-decisions.ts';
import { checkNothingDangles } from './transactions.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally } from '../report.ts';

/** The row of `no-dangling-transactions`. */
export const noDanglingTransactionsRow = invariant({
  name: 'no-dangling-transactions',
  code: 'INV3',
  promise: 'after healing no transaction is left in doubt',
  gravity: 'availability',
  breach: 'branches hold their locks, or their records, for ever',
  needs: ['finished-branches'],
  check: ({ transactions }: TransactionEvidence) =>
    transactions &&
    joinReports(
      checkNothingDangles(transactions.dangling),
      checkNothingLeft(transactions.left, transactionsKept(transactions)),
      checkRecordsKept(transactions.kept ?? []),
    ),
});

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

/**
 * Transactions of which nodes keep branch records for good reason: a participant died for good or lost its disk, or an
 * operator decided on behalf of a dead coordinator (a node keeps that decision until the coordinator confirms it or is
 * replaced).
 */
function transactionsKept({ steps, missed, forgetful }: TransactionFindings): ReadonlySet<string> {
  const gone = [...missed, ...forgetful];
  const unconfirmed = [...decidedHeuristically(steps)].filter((xid) =>
    missed.some((node) => xid.startsWith(`${node}-`)),
  );
  return new Set([...sharedWith(gone, steps), ...unconfirmed]);
}
