/**
 * `strict-serializability` (INV6), isolation: transactions that read through preconditions, and single reads at
 * primaries, are strictly serializable. The check works over append-only lists in the manner of Elle (Kingsbury and
 * Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations", 2020), with Elle's names:
 *
 * - `incompatible order`: two reads of a list of which neither is a prefix of the other; `duplicate`;
 * - `G1a`: a read shows an aborted transaction's append; `G1b`: a read shows only the first element of a transaction;
 * - cycles of dependencies (ww: appended after; wr: read it; rw: did not see it): `G0` of ww alone, `G1c` of ww and wr,
 *   `G-single` with one rw, `G2` with several; `-realtime`: a cycle that needs the order in which clients saw
 *   transactions end and begin;
 * - `lost update`: two committed transfers replaced one version of an account.
 *
 * Reads away from the primary and plain writes promise causality only and are not judged here. A transaction of unknown
 * outcome counts as committed if a read showed its append. Skipped: lists with a transaction that an operator decided.
 */
import type { TransactionHistory, TransactionRecord } from '../../evidence/transactions.ts';
import { appenderOf, describeTransaction } from '../../evidence/transactions.ts';
import type { Edge } from './dependency-graph.ts';
import { findCycles } from './dependency-graph.ts';
import type { TransactionEvidence } from './transactions.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

interface ListRead {
  readonly record: TransactionRecord;
  readonly list: readonly number[];
}

/** The row of `strict-serializability`. */
export const strictSerializabilityRow = invariant({
  name: 'strict-serializability',
  code: 'INV6',
  promise: 'transactions have one order that fits real time',
  gravity: 'data',
  breach: 'two transactions saw states that no order of them explains',
  needs: [],
  check: ({ transactions }: TransactionEvidence) =>
    transactions && checkIsolation(transactions.history, transactions.decidedByOperator),
});

/** `tainted`: keys of transactions that an operator decided. */
export function checkIsolation(history: TransactionHistory, tainted: ReadonlySet<string>): CheckReport {
  const tally = new Tally('strict-serializability');
  const reads = readsByList(history, tainted, tally);
  const edges: Edge[] = [];
  const seen = new Set<number>();
  for (const [key, ofKey] of reads) {
    const order = longestOf(ofKey);
    for (const element of order) seen.add(appenderOf(element));
    checkReads(history, key, ofKey, order, tally);
    edges.push(...edgesOf(history, key, ofKey, order));
  }
  const committed = history.filter((record) => counts(record, seen));
  const names = new Set(committed.map(({ id }) => id));
  const within = edges.filter(({ from, to }) => names.has(from) && names.has(to));
  for (const edge of within) tally.compare(true, 0, () => edge.key);
  for (const { name, path, edges: along } of findCycles(within, committed)) {
    const atUs = Math.min(...path.map((id) => history[id]?.invokedUs ?? 0));
    tally.compare(false, atUs, () => `${name}: ${describeCycle(history, path, along)}`);
  }
  checkTransfers(history, tainted, tally);
  return tally.report();
}

function readsByList(
  history: TransactionHistory,
  tainted: ReadonlySet<string>,
  tally: Tally,
): ReadonlyMap<string, readonly ListRead[]> {
  const reads = new Map<string, ListRead[]>();
  for (const record of history) {
    for (const { key, value } of record.reads) {
      if (!isList(key)) continue;
      if (tainted.has(key)) {
        tally.skip();
        continue;
      }
      const read = { record, list: value?.list ?? [] };
      const known = reads.get(key);
      if (known === undefined) reads.set(key, [read]);
      else known.push(read);
    }
  }
  return reads;
}

function isList(key: string): boolean {
  return key.startsWith('lists/') || key.startsWith('twins/');
}

function longestOf(reads: readonly ListRead[]): readonly number[] {
  let longest: readonly number[] = [];
  for (const { list } of reads) if (list.length > longest.length) longest = list;
  return longest;
}

function checkReads(
  history: TransactionHistory,
  key: string,
  reads: readonly ListRead[],
  order: readonly number[],
  tally: Tally,
): void {
  const last = new Map(order.map((element) => [appenderOf(element), element]));
  tally.compare(new Set(order).size === order.length, 0, () => `duplicate: ${key} holds ${order.join(' ')}`);
  for (const { record, list } of reads) {
    const at = record.completedUs ?? record.invokedUs;
    const begins = list.every((element, index) => element === order[index]);
    tally.compare(begins, at, () => {
      return `incompatible order: ${describeTransaction(record)} saw ${key} as ${list.join(' ')}, another as ${order.join(' ')}`;
    });
    for (const element of list) {
      const writer = history[appenderOf(element)];
      tally.compare(writer !== undefined && writer.outcome !== 'fail', at, () => {
        const who = writer === undefined ? `nobody (${element})` : describeTransaction(writer);
        return `G1a: ${describeTransaction(record)} saw in ${key} what was appended by ${who}`;
      });
    }
    const newest = list.at(-1);
    if (newest === undefined || !begins) continue;
    tally.compare(last.get(appenderOf(newest)) === newest, at, () => {
      return `G1b: ${describeTransaction(record)} saw half of what #${appenderOf(newest)} appended to ${key}`;
    });
  }
}

/** The transaction's reads and writes form a unit: it certainly committed, or a read showed its append. */
function counts(record: TransactionRecord, seen: ReadonlySet<number>): boolean {
  if (!record.validated) return false;
  return record.outcome === 'ok' || (record.outcome === 'unknown' && seen.has(record.id));
}

function edgesOf(
  history: TransactionHistory,
  key: string,
  reads: readonly ListRead[],
  order: readonly number[],
): readonly Edge[] {
  const writers = order.map(appenderOf).filter((id, index, all) => id !== all[index - 1]);
  const edges: Edge[] = [];
  const add = (kind: Edge['kind'], from: number | undefined, to: number | undefined): void => {
    if (from !== undefined && to !== undefined && from !== to) edges.push({ kind, from, to, key });
  };
  writers.forEach((writer, index) => add('ww', writers[index - 1], writer));
  for (const { record, list } of reads) {
    const newest = list.at(-1);
    const place = newest === undefined ? -1 : writers.indexOf(appenderOf(newest));
    add('wr', writers[place], record.id);
    // A transaction's own append directly follows what it read; it has not seen the next writer.
    const next = writers[place + 1];
    add('rw', record.id, next === record.id ? writers[place + 2] : next);
  }
  return edges.filter(({ from, to }) => history[from] !== undefined && history[to] !== undefined);
}

/** A committed transfer replaced the version that it read: no two may replace the same version. */
function checkTransfers(history: TransactionHistory, tainted: ReadonlySet<string>, tally: Tally): void {
  const replaced = new Map<string, TransactionRecord>();
  for (const record of history) {
    if (record.kind !== 'transfer' || record.outcome !== 'ok') continue;
    for (const { key, value } of record.reads) {
      if (tainted.has(key)) continue;
      const version = `${key} as ${value === undefined ? 'it was first' : value.tag}`;
      const other = replaced.get(version);
      tally.compare(other === undefined, record.invokedUs, () => {
        const both = other === undefined ? '' : describeTransaction(other);
        return `lost update: ${describeTransaction(record)} and ${both} replaced ${version}`;
      });
      replaced.set(version, record);
    }
  }
}

function describeCycle(
  history: TransactionHistory,
  path: readonly number[],
  along: readonly { readonly kind: string; readonly key: string }[],
): string {
  return path
    .map((id, index) => {
      const record = history[id];
      const edge = along[index];
      const what = record === undefined ? `#${id}` : describeTransaction(record);
      return `${what} -${edge?.kind ?? '?'}${edge?.key === undefined || edge.key === '' ? '' : ` ${edge.key}`}->`;
    })
    .join(' ');
}
