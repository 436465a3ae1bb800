/**
 * Exports transaction histories for independent checkers: Jepsen's EDN with Elle's list-append operations (`[:r k [1
 * 2]]`, `[:append k 3]`), or JSON lines `{process,type,f,key,value,time}`. Every transaction over lists becomes an
 * invocation and its completion; the values are the numbers that it appended. Times are nanoseconds of virtual time.
 *
 * The export holds what `strict-serializability` judges: transactions whose reads are preconditions, and single reads
 * at primaries.
 */
import type { TransactionHistory, TransactionRecord } from './transactions.ts';
import { appenderOf } from './transactions.ts';

/** An invocation, or its end: committed, certainly aborted, or unknown (Jepsen's `info`). */
type EventType = 'invoke' | 'ok' | 'fail' | 'info';

interface ExportedEvent {
  readonly process: number;
  readonly type: EventType;
  readonly timeNs: number;
  readonly record: TransactionRecord;
}

/** One micro-operation; a read of `undefined` has not happened yet. */
type MicroOperation =
  | { readonly f: 'r'; readonly key: string; readonly value: readonly number[] | undefined }
  | { readonly f: 'append'; readonly key: string; readonly value: number };

/** The history as Jepsen writes it: a vector of operation maps. */
export function historyEdn(history: TransactionHistory): string {
  const lines = eventsOf(history).map(({ process, type, timeNs, record }, index) => {
    const value = microOperations(record, type).map(ednOf).join(' ');
    return `{:index ${index}, :type :${type}, :f :txn, :process ${process}, :time ${timeNs}, :value [${value}]}`;
  });
  return `[${lines.join('\n ')}]\n`;
}

/** The history as JSON lines: one line per micro-operation of every event. */
export function historyJsonLines(history: TransactionHistory): string {
  const lines = eventsOf(history).flatMap(({ process, type, timeNs, record }) =>
    microOperations(record, type).map(({ f, key, value }) =>
      JSON.stringify({ process, type, f, key, value: value ?? null, time: timeNs, txn: record.id }),
    ),
  );
  return lines.map((line) => `${line}\n`).join('');
}

function eventsOf(history: TransactionHistory): readonly ExportedEvent[] {
  const clients = [...new Set(history.map(({ client }) => client))];
  const doubts = new Map<string, number>();
  const events = history.filter(isExported).flatMap((record): readonly ExportedEvent[] => {
    const doubted = doubts.get(record.client) ?? 0;
    // In Jepsen, a process whose operation ended in doubt is not used again: its client continues as another process.
    const process = clients.indexOf(record.client) + doubted * clients.length;
    if (record.outcome === 'unknown') doubts.set(record.client, doubted + 1);
    const invoked = { process, type: 'invoke', timeNs: record.invokedUs * 1000, record } as const;
    if (record.completedUs === undefined) return [invoked];
    const type = record.outcome === 'unknown' ? 'info' : record.outcome;
    return [invoked, { process, type, timeNs: record.completedUs * 1000, record }];
  });
  return events.toSorted((left, right) => left.timeNs - right.timeNs);
}

/** Whether the transaction is about lists alone, and its reads are validated. */
function isExported({ validated, reads, writes }: TransactionRecord): boolean {
  const keys = [...reads, ...writes].map(({ key }) => key);
  return validated && keys.length > 0 && keys.every((key) => /^(lists|twins)\//.test(key));
}

function microOperations(record: TransactionRecord, type: EventType): readonly MicroOperation[] {
  const reads = record.reads.map(({ key, value }) => ({
    f: 'r' as const,
    key,
    // The history records a read's value only if the transaction committed for certain.
    value: type === 'ok' ? (value?.list ?? []) : undefined,
  }));
  const appends = record.writes.flatMap(({ key, value }) => {
    const own = (value?.list ?? []).filter((element) => appenderOf(element) === record.id);
    return own.map((element) => ({ f: 'append' as const, key, value: element }));
  });
  return [...reads, ...appends];
}

function ednOf({ f, key, value }: MicroOperation): string {
  const shown =
    value === undefined ? 'nil' : typeof value === 'number' ? String(value) : `[${value.join(' ')}]`;
  return `[:${f} ${JSON.stringify(key)} ${shown}]`;
}
