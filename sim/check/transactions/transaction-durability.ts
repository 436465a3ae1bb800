/**
 * The transaction part of `durable-before-ack` (INV5). The simulated disks say what is durable when. The check compares:
 *
 * - no branch votes commit before its prepare record is durable (for the coordinator's own branch: the decision);
 * - no coordinator sends a commit before its decision is durable;
 * - when a client receives `committed`, as many replicas as the level requires hold every key's new value durably, in
 *   their data or in the prepare record of a branch.
 *
 * Each loss of a lying disk while the transaction ran excuses one copy of its values.
 *
 * Skipped: keys of a branch that an operator rolled back, whatever the coordinator decides; votes and commits on a record
 * whose sync the disk answered as done without doing it (`lying-sync`), which no node can notice; keys of branches that the answer calls pending; answers to retries, which name no branch; deletions,
 * whose empty value cannot be told from others. Also skipped are values that another transaction's value may have
 * replaced: a primary unlocks a key before the client has its answer, and the next write can overtake the value on its
 * way to a replica. And values that were made from an older one than the newest before, which a primary that started on
 * a disk without its newest records (`disk.shortened`) took for the newest: at the other replicas, what it did not know
 * of wins.
 */
import type { TransactionHistory, TransactionRecord } from '../../evidence/transactions.ts';
import { describeTransaction } from '../../evidence/transactions.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import type { TransactionStep } from './transactions.ts';
import { shortened } from './transactions.ts';

/** Checks votes and commits by the steps, and acknowledged commits by the history. */
export function checkTransactionDurability(
  steps: readonly TransactionStep[],
  history: TransactionHistory,
  lostBetween: (fromUs: number, toUs: number) => number = () => 0,
): CheckReport {
  const tally = new Tally('durable-before-ack');
  for (const { atUs, node, step, xid, fields } of steps) {
    const relies = step === 'c.commit.sent' || (step === 'p.vote.sent' && fields['vote'] === 'commit');
    if (!relies) continue;
    const what = step === 'c.commit.sent' ? 'sends a commit' : 'votes commit';
    if (fields['durable'] !== true && fields['lied'] === true) {
      tally.skip();
      continue;
    }
    tally.compare(fields['durable'] === true, atUs, () => {
      return `${node} ${what} in ${xid}, and the record of it is not durable`;
    });
  }
  const writers = writersOf(history);
  const rolledBack = keysOfRollbacks(steps);
  const startsUs = steps.filter(({ step }) => step === shortened).map(({ atUs }) => atUs);
  for (const record of history) {
    if (record.outcome !== 'ok') continue;
    const lost = lostBetween(record.invokedUs, record.completedUs ?? record.invokedUs);
    for (const { key, value, durableCopies, owed: promised = record.need } of record.writes) {
      const owed = promised - lost;
      const enough = durableCopies !== undefined && durableCopies >= owed;
      const replaced = (): boolean =>
        (writers.get(key) ?? []).some((other) => mayStandForIt(other, record, key, value?.tag)) ||
        missesNewer(record, key, writers.get(key) ?? [], startsUs);
      const isRolledBack = (): boolean =>
        record.xids.some((answer) => rolledBack.has(`${answer.split(' ')[0] ?? ''} ${key}`));
      if (durableCopies === undefined || (!enough && (replaced() || isRolledBack()))) {
        tally.skip();
        continue;
      }
      tally.compare(enough, record.completedUs ?? 0, () => {
        return `${describeTransaction(record)}: ${key} has ${durableCopies} of ${owed} promised durable copies`;
      });
    }
  }
  return tally.report();
}

/** `n1-…-1 lists/l0`: keys of branches that an operator rolled back. */
function keysOfRollbacks(steps: readonly TransactionStep[]): ReadonlySet<string> {
  const taken = new Map<string, readonly string[]>();
  const rolledBack = new Set<string>();
  for (const { step, node, xid, fields } of steps) {
    if (step === 'p.locks.taken') taken.set(`${node} ${xid}`, String(fields['keys'] ?? '').split(' '));
    if (step === 'branch.decided' && fields['decision'] === 'rollback')
      for (const key of taken.get(`${node} ${xid}`) ?? []) rolledBack.add(`${xid} ${key}`);
  }
  return rolledBack;
}

/** Per key, the transactions that may have written it. */
function writersOf(history: TransactionHistory): ReadonlyMap<string, readonly TransactionRecord[]> {
  const writers = new Map<string, TransactionRecord[]>();
  for (const record of history) {
    if (record.outcome === 'fail') continue;
    for (const { key } of record.writes) writers.set(key, [...(writers.get(key) ?? []), record]);
  }
  return writers;
}

/**
 * `other` began before this transaction was answered and did not complete before it began; if it depends on the key, it
 * read this value. A transaction of unknown outcome never completes.
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

/**
 * The transaction read an older value of the key than the newest that was committed before it began, and between the two
 * a node started on a disk that had lost its newest records.
 */
function missesNewer(
  record: TransactionRecord,
  key: string,
  writers: readonly TransactionRecord[],
  startsUs: readonly number[],
): boolean {
  const read = record.reads.find((one) => one.key === key);
  if (read === undefined) return false;
  const tagOf = (one: TransactionRecord): string | undefined =>
    one.writes.find((write) => write.key === key)?.value?.tag;
  const tag = read.value?.tag;
  const sinceUs = writers.find((one) => tag !== undefined && tagOf(one) === tag)?.completedUs ?? 0;
  return writers.some(
    (other) =>
      other.outcome === 'ok' &&
      tagOf(other) !== undefined &&
      tagOf(other) !== tag &&
      other.invokedUs >= sinceUs &&
      (other.completedUs ?? Infinity) <= record.invokedUs &&
      startsUs.some((atUs) => atUs > other.invokedUs && atUs < (record.completedUs ?? Infinity)),
  );
}
