/**
 * The value part of `atomicity` (INV1): what committed transactions read, and what the keys hold at the end.
 *
 * - A committed transaction that read a triple, on condition that it did not change, read the values of one
 *   transaction.
 * - The sum of all accounts is unchanged. Both lists of a pair are equal. The three keys of a triple hold one
 *   transaction's value, or none does.
 * - Every append of a committed transaction is there, and none of an aborted one.
 * - No client received `committed` for a transaction that it had asked to abort.
 * - A transfer moved both accounts or neither. This holds for the other transfers too when the sum is unknown.
 *
 * Skipped: keys that could not be read, and `excused` keys: those of transactions that an operator decided, or of which
 * a voted branch was lost with its node.
 */
import type {
  SeenKey,
  TransactionHistory,
  TransactionRecord,
  TransactionValue,
} from '../../evidence/transactions.ts';
import { describeTransaction } from '../../evidence/transactions.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

type Finals = ReadonlyMap<string, TransactionValue | undefined>;

/** `firstBalance`: each account's initial balance; `excused`: keys to skip. */
export function checkTransactionValues(
  history: TransactionHistory,
  accounts: number,
  firstBalance: number,
  excused: ReadonlySet<string>,
): CheckReport {
  const tally = new Tally('atomicity');
  const finals = finalsOf(history, excused);
  const atUs = Math.max(0, ...history.map(({ invokedUs }) => invokedUs));
  checkTotal(finals, accounts, firstBalance, atUs, tally);
  checkTogether(finals, 'twins/', atUs, tally, (value) => (value?.list ?? []).join(' '));
  checkTogether(finals, 'triples/', atUs, tally, (value) => transactionIn(value?.tag ?? ''));
  const byTag = new Map(
    history.flatMap((record) => record.writes.map(({ value }) => [value?.tag ?? '', record])),
  );
  checkTransfers(history, byTag, finals, tally);
  for (const [key, value] of finals) {
    if (value === undefined) continue;
    const writer = byTag.get(value.tag);
    tally.compare(writer !== undefined && writer.outcome !== 'fail', atUs, () => {
      const who = writer === undefined ? 'nobody wrote' : `was aborted: ${describeTransaction(writer)}`;
      return `${key} holds ${value.tag}, which ${who}`;
    });
  }
  for (const record of history) {
    if (record.forced)
      tally.compare(
        record.outcome !== 'ok',
        record.completedUs ?? 0,
        () => `${describeTransaction(record)}, told to abort`,
      );
    if (record.outcome !== 'ok') continue;
    checkKept(record, finals, tally);
    checkSeen(record, excused, tally);
  }
  return tally.report();
}

/** All keys of a triple had the values that the transaction read while it held all their locks. */
function checkSeen(record: TransactionRecord, excused: ReadonlySet<string>, tally: Tally): void {
  if (record.kind !== 'restamp') return;
  if (record.reads.some(({ key }) => excused.has(key))) {
    tally.skip();
    return;
  }
  const held = record.reads.map(({ key, value }) => `${key}=«${transactionIn(value?.tag ?? '')}»`);
  tally.compare(distinctCount(held) === 1, record.completedUs ?? record.invokedUs, () => {
    return `${describeTransaction(record)} saw half of a transaction: ${held.join(' ')}`;
  });
}

/** Ids are appended and never removed. */
function checkKept(record: TransactionRecord, finals: Finals, tally: Tally): void {
  for (const { key, value } of record.writes) {
    const list = value?.list;
    if (list === undefined) continue;
    const final = finals.get(key);
    if (!finals.has(key)) {
      tally.skip();
      continue;
    }
    const kept = list.every((element, index) => final?.list?.[index] === element);
    tally.compare(kept, record.completedUs ?? 0, () => {
      return `${describeTransaction(record)} made ${key} ${list.join(' ')}, and it ends as ${final?.list?.join(' ') ?? 'nothing'}`;
    });
  }
}

function checkTotal(
  finals: Finals,
  accounts: number,
  firstBalance: number,
  atUs: number,
  tally: Tally,
): void {
  if (accounts === 0) return;
  const held = [...finals].filter(([key]) => key.startsWith('bank/'));
  if (held.length < accounts) {
    tally.skip();
    return;
  }
  const total = held.reduce((sum, [, value]) => sum + (value?.balance ?? firstBalance), 0);
  const balances = held.map(([key, value]) => `${key}=${value?.balance ?? firstBalance}`).join(' ');
  tally.compare(total === accounts * firstBalance, atUs, () => {
    return `the accounts hold ${total}, not ${accounts * firstBalance}: ${balances}`;
  });
}

/** Every transfer is in the history of both of its accounts or of neither; a committed one in both. */
function checkTransfers(
  history: TransactionHistory,
  byTag: ReadonlyMap<string, TransactionRecord>,
  finals: Finals,
  tally: Tally,
): void {
  const pasts = new Map([...finals.keys()].map((key) => [key, pastOf(key, finals.get(key), byTag)]));
  for (const record of history) {
    if (record.kind !== 'transfer') continue;
    const shown = record.writes.flatMap(({ key }) => {
      const past = pasts.get(key);
      return past === undefined ? [] : [{ key, moved: past.has(record) }];
    });
    const moved = record.outcome === 'ok' || shown.some((one) => one.moved);
    for (const one of shown) {
      tally.compare(one.moved === moved, record.completedUs ?? record.invokedUs, () => {
        return `${describeTransaction(record)} did not move ${one.key}`;
      });
    }
  }
}

/** The transfers that led to an account's value: each transfer names the version that it read. */
function pastOf(
  key: string,
  value: TransactionValue | undefined,
  byTag: ReadonlyMap<string, TransactionRecord>,
): ReadonlySet<TransactionRecord> {
  const past = new Set<TransactionRecord>();
  for (let now = value; now !== undefined;) {
    const writer = byTag.get(now.tag);
    if (writer === undefined || past.has(writer)) break;
    past.add(writer);
    now = writer.reads.find((read) => read.key === key)?.value;
  }
  return past;
}

/** The keys of one pair or triple hold the same value; their names differ after the dot. */
function checkTogether(
  finals: Finals,
  bucket: string,
  atUs: number,
  tally: Tally,
  shown: (value: TransactionValue | undefined) => string,
): void {
  const groups = new Map<string, string[]>();
  for (const [key, value] of finals) {
    if (!key.startsWith(bucket)) continue;
    const group = key.slice(0, key.indexOf('.'));
    groups.set(group, [...(groups.get(group) ?? []), `${key}=«${shown(value)}»`]);
  }
  for (const [group, held] of groups) {
    tally.compare(distinctCount(held) === 1, atUs, () => `${group} is torn: ${held.join(' ')}`);
  }
}

/** Number of different values after the equals signs. */
function distinctCount(held: readonly string[]): number {
  return new Set(held.map((text) => text.slice(text.indexOf('=')))).size;
}

/** `«w:x1:t12.0»` -> `x1:t12`: all tags of one transaction share this prefix. */
function transactionIn(tag: string): string {
  return tag.replace(/[.]\d+»$/, '');
}

/** What each key held in the last read after the calm. */
function finalsOf(history: TransactionHistory, excused: ReadonlySet<string>): Finals {
  const finals = new Map<string, TransactionValue | undefined>();
  const seen = (read: SeenKey): void => void finals.set(read.key, read.value);
  for (const record of history) {
    if (!record.final || record.kind !== 'look' || record.outcome !== 'ok') continue;
    record.reads.filter(({ key }) => !excused.has(key)).forEach(seen);
  }
  return finals;
}
