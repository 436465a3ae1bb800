/**
 * The transactions' half of INV5: no branch votes commit before its prepare record is durable (the coordinator's own: the
 * decision), no coordinator sends a commit before its decision is, and when a client hears `committed` every key's new value lies durably at as many
 * replicas as the level names (in a branch's record at least), by the world's own knowledge of the disks. Skipped: keys
 * of branches that the answer itself calls pending, answers to repetitions, which name no branch, and deletions, which
 * leave no tag.
 */
import type { TransactionHistory } from '../history/transactions.ts';
import { describeTransaction } from '../history/transactions.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';
import type { TransactionStep } from './transactions.ts';

export function checkTransactionDurability(
  steps: readonly TransactionStep[],
  history: TransactionHistory,
): CheckReport {
  const tally = new Tally('INV5');
  for (const { atUs, node, step, xid, fields } of steps) {
    const relies = step === 'c.commit.sent' || (step === 'p.vote.sent' && fields['vote'] === 'commit');
    if (!relies) continue;
    const what = step === 'c.commit.sent' ? 'sends a commit' : 'votes commit';
    tally.compare(fields['durable'] === true, atUs, () => {
      return `${node} ${what} in ${xid}, and the record of it is not durable`;
    });
  }
  for (const record of history) {
    if (record.outcome !== 'ok') continue;
    for (const { key, durableCopies } of record.writes) {
      if (durableCopies === undefined) {
        tally.skip();
        continue;
      }
      tally.compare(durableCopies >= record.need, record.completedUs ?? 0, () => {
        return `${describeTransaction(record)}: ${key} has ${durableCopies} durable copies, ${record.need} are promised`;
      });
    }
  }
  return tally.report();
}
