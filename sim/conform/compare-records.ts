/**
 * Compares transactions, Redis operations and jobs of two runs of one plan. Their clients are not paced, so only outcomes
 * are compared that no fault and no other operation on the same keys was near to, and, after the calm, what follows from
 * equal outcomes: the elements of lists, and counters.
 */
import type { Outcome } from '../evidence/history.ts';
import type { RedisRecord } from '../evidence/redis.ts';
import { isIncrement } from '../evidence/redis.ts';
import type { JobRecord } from '../evidence/jobs.ts';
import type { TransactionHistory, TransactionRecord } from '../evidence/transactions.ts';
import { appenderOf } from '../evidence/transactions.ts';
import type { Comparer } from './difference.ts';
import type { Disturbances } from './disturbed.ts';

/** The records of one run, with its faults. */
export interface RecordRun {
  readonly transactions: TransactionHistory;
  readonly redis: readonly RedisRecord[];
  readonly jobs: readonly JobRecord[];
  readonly disturbances: Disturbances;
}

interface Timed {
  readonly invokedUs: number;
  readonly completedUs: number | undefined;
  readonly outcome: Outcome;
}

/** Compares all of them. */
export function compareRecords(world: RecordRun, real: RecordRun, comparer: Comparer): void {
  compareTransactions(world, real, comparer);
  compareRedis(world, real, comparer);
  compareJobs(world, real, comparer);
}

function compareTransactions(world: RecordRun, real: RecordRun, comparer: Comparer): void {
  const others = new Map(planned(real.transactions).map((record) => [record.planned, record]));
  for (const record of planned(world.transactions)) {
    const other = others.get(record.planned);
    const isAlone =
      other !== undefined && isAloneIn(record, world.transactions) && isAloneIn(other, real.transactions);
    if (!isAlone || isNear(world, record) || isNear(real, other)) comparer.leave();
    else {
      const name = `${record.planned} ${record.client} ${record.kind} ${keysOf(record).join(' ')}`;
      comparer.compare('outcome', name, record.outcome, other.outcome, other.reason);
    }
  }
  compareLists(world.transactions, real.transactions, comparer);
}

/** The elements of each list after the calm, where all its transactions ended alike. */
function compareLists(world: TransactionHistory, real: TransactionHistory, comparer: Comparer): void {
  const [left, right] = [endsByList(world), endsByList(real)];
  const [lists, others] = [finalLists(world), finalLists(real)];
  for (const [key, ends] of left) {
    const [list, other] = [lists.get(key), others.get(key)];
    if (list === undefined || other === undefined) continue;
    if (ends.includes('unknown') || ends !== right.get(key)) comparer.leave();
    else comparer.compare('final', `${key} after the calm`, list, other);
  }
}

/** By list: its transactions with their outcomes, as one text. */
function endsByList(history: TransactionHistory): ReadonlyMap<string, string> {
  const ends = new Map<string, string[]>();
  for (const { planned: id, outcome, writes, final } of history) {
    if (final) continue;
    for (const { key, value } of writes) {
      if (value?.list === undefined) continue;
      ends.set(key, [...(ends.get(key) ?? []), `${id}:${outcome}`]);
    }
  }
  return new Map([...ends].map(([key, list]) => [key, list.toSorted().join(' ')]));
}

/** By list: the transactions of the plan whose elements it holds, as one text. */
function finalLists(history: TransactionHistory): ReadonlyMap<string, string> {
  const lists = new Map<string, string>();
  for (const { reads, final } of history) {
    if (!final) continue;
    for (const { key, value } of reads) {
      if (value?.list === undefined) continue;
      const appenders = value.list.map((element) => history[appenderOf(element)]?.planned ?? '');
      lists.set(
        key,
        appenders
          .filter((id) => id !== '')
          .toSorted()
          .join(' '),
      );
    }
  }
  return lists;
}

function compareRedis(world: RecordRun, real: RecordRun, comparer: Comparer): void {
  const others = new Map(real.redis.map((record) => [record.id, record]));
  for (const record of world.redis) {
    if (record.final) continue;
    const other = others.get(record.id);
    // Pages and pipelines hold several commands, and transactions of others abort them.
    const isSingle = record.kind === 'incr' || record.kind === 'read' || record.kind === 'mortal';
    if (!isSingle || other === undefined || isNear(world, record) || isNear(real, other)) comparer.leave();
    else {
      const name = `${record.id} ${record.client} ${record.kind} ${record.key}`;
      comparer.compare('outcome', name, record.outcome, other.outcome, other.reason);
    }
  }
  compareCounters(world.redis, real.redis, comparer);
}

/** Each counter after the calm, where all increments ended alike. */
function compareCounters(
  world: readonly RedisRecord[],
  real: readonly RedisRecord[],
  comparer: Comparer,
): void {
  const increments = (records: readonly RedisRecord[], key: number): string =>
    records
      .filter((record) => isIncrement(record) && record.key === key)
      .map(({ id, outcome }) => `${id}:${outcome}`)
      .toSorted()
      .join(' ');
  const finals = (records: readonly RedisRecord[]): readonly RedisRecord[] =>
    records.filter(({ final, kind, outcome }) => final && kind === 'read' && outcome === 'ok');
  const others = new Map(finals(real).map((record) => [record.key, record]));
  for (const { key, counted } of finals(world)) {
    const other = others.get(key);
    if (other === undefined) continue;
    const ends = increments(world, key);
    if (ends.includes('unknown') || ends !== increments(real, key)) comparer.leave();
    else comparer.compare('final', `counter c${key} after the calm`, String(counted), String(other.counted));
  }
}

function compareJobs(world: RecordRun, real: RecordRun, comparer: Comparer): void {
  const others = new Map(real.jobs.map((record) => [record.id, record]));
  for (const record of world.jobs) {
    const other = others.get(record.id);
    if (record.final || other === undefined || isNear(world, record) || isNear(real, other)) comparer.leave();
    else
      comparer.compare(
        'outcome',
        `${record.id} ${record.client} ${record.kind}`,
        record.outcome,
        other.outcome,
        other.reason,
      );
  }
}

function planned(history: TransactionHistory): TransactionHistory {
  return history.filter((record) => record.planned !== '' && !record.final);
}

function isNear({ disturbances }: RecordRun, { invokedUs, completedUs }: Timed): boolean {
  return disturbances.touches(invokedUs, completedUs ?? Infinity);
}

/** Whether no other transaction with one of its keys was under way at the same time. */
function isAloneIn(record: TransactionRecord, history: TransactionHistory): boolean {
  const keys = new Set(keysOf(record));
  return !history.some((other) => {
    if (other === record || !keysOf(other).some((key) => keys.has(key))) return false;
    return (
      other.invokedUs <= (record.completedUs ?? Infinity) &&
      record.invokedUs <= (other.completedUs ?? Infinity)
    );
  });
}

function keysOf({ reads, writes }: TransactionRecord): readonly string[] {
  return [...new Set([...reads, ...writes].map(({ key }) => key))];
}
