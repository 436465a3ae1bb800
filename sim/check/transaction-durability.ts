/**
 * The transactions' half of `durable-before-ack` (INV5): no branch votes commit before its prepare record is durable
 * (the coordinator's own: the decision), no coordinator sends a commit before its decision is, and when a client
 * hears `committed` every key's new value lies durably at as many replicas as the level names (in a branch's record
 * at least), by the world's own knowledge of the disks. Skipped: keys of branches that the answer itself calls
 * pending, answers to repetitions, which name no branch, deletions, which leave no tag, and values that another
 * transaction's may stand for: a primary lets a key go before the client hears, and what the next one writes can
 * overtake its value on the way to a replica.
 */
import type { TransactionHistory, TransactionRecord } from '../evidence/transactions.ts';
import { describeTransaction } from '../evidence/transactions.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';
import type { TransactionStep } from './transactions.ts';

export function checkTransactionDurability(
  steps: readonly TransactionStep[],
  history: TransactionHistory,
): CheckReport {
  const tally = new Tally('durable-before-ack');
  for (const { atUs, node, step, xid, fields } of steps) {
    const relies = step === 'c.commit.sent' || (step === 'p.vote.sent' && fields['vote'] === 'commit');
    if (!relies) continue;
    const what = step === 'c.commit.sent' ? 'sends a commit' : 'votes commit';
    tally.compare(fields['durable'] === true, atUs, () => {
      return `${node} ${what} in ${xid}, and the record of it is not durable`;
    });
  }
  const writers = writersOf(history);
  for (const record of history) {
    if (record.outcome !== 'ok') continue;
    for (const { key, value, durableCopies } of record.writes) {
      const enough = durableCopies !== undefined && durableCopies >= record.need;
      const replaced = (): boolean =>
        (writers.get(key) ?? []).some((other) => mayStandForIt(other, record, key, value?.tag));
      if (durableCopies === undefined || (!enough && replaced())) {
        tally.skip();
        continue;
      }
      tally.compare(enough, record.completedUs ?? 0, () => {
        return `${describeTransaction(record)}: ${key} has ${durableCopies} durable copies, ${record.need} are promised`;
      });
    }
  }
  return tally.report();
}

/** Per key the transactions that may have written it. */
function writersOf(history: TransactionHistory): ReadonlyMap<string, readonly TransactionRecord[]> {
  const writers = new Map<string, TransactionRecord[]>();
  for (const record of history) {
    if (record.outcome === 'fail') continue;
    for (const { key } of record.writes) writers.set(key, [...(writers.get(key) ?? []), record]);
  }
  return writers;
}

/**
 * The other began before this one was answered, and was not over before; if it depends on the key, then on this value. One
 * whose outcome nobody heard is never over.
 */
function mayStandForIt(
  other: TransactionRecord,
  record: TransactionRecord,
  key: string,
  tag: string | undefined,
): boolean {
  if (other === record || other.invokedUs >= (record.completedUs ?? Infinity)) return false;
  if (other.outcome === 'ok' && (other.completedUs ?? Infinity) <= record.invokedUs) return false;
  const read = other.reads.find((one) => one.key === key);
  return read === undefined || read.value?.tag === tag;
}
