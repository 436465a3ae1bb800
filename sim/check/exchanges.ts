/**
 * What anti-entropy promises, exchange by exchange, against what the stores of both sides truly held (read off their
 * disks, sim/observe). All pure.
 *
 * `exchange-soundness` (INV11), soundness: what an exchange reports is what differs. Every key that it reports did
 * differ at some instant of it; every key that differed from its beginning to its end is reported when it finishes. A
 * saved tree is the tree of the store at its position, leaf by leaf.
 *
 * `repair-soundness`, repair: a node's record of a key never gives way to one that knows less, or that brings back
 * what was replaced or deleted; what an exchange says it has repaired is equal when it finishes; an exchange of equal
 * stores lists no key and repairs nothing, so there is no churn.
 *
 * `stale-snapshot-safety`, stale snapshots: a key that changed after the snapshot that a life began with, and before
 * that life, is never called equal by an exchange when it differs.
 *
 * Skipped: keys that somebody else wrote during an exchange or shortly before (which side counts then is a matter of
 * microseconds); exchanges with a disk that holds places nobody can read, and while the ring changes.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

export interface ReportedKey {
  readonly key: string;
  readonly outcome: string;
}

export interface ExchangeRecord {
  readonly node: string;
  readonly peer: string;
  readonly beganUs: number;
  readonly endedUs: number;
  readonly end: 'finished' | 'aborted' | 'cut';
  /** Keys listed by either side. */
  readonly listed: number;
  readonly reported: readonly ReportedKey[];
  /** Keys of both that differed at the beginning; at the end. */
  readonly differing: ReadonlySet<string>;
  readonly differingAtEnd: ReadonlySet<string>;
  /** How often either side wrote the key, from shortly before the beginning to the end; during it alone. */
  readonly touched: ReadonlyMap<string, number>;
  readonly touchedWithin: ReadonlyMap<string, number>;
  /** Keys of which a side learned, during it, what neither side knew at its beginning: somebody else wrote them. */
  readonly fromElsewhere: ReadonlySet<string>;
  /** Keys that changed after the snapshot that either life began with, and before that life. */
  readonly sinceSnapshot: ReadonlySet<string>;
  /** Why it cannot be judged; empty: it can. */
  readonly skipped: string;
  /** A leaf of either tree was altered by a fault: lists may be asked for in vain. */
  readonly altered: boolean;
}

/** A leaf of a saved tree, and what the store's records up to its position make of it. */
export interface LeafRecord {
  readonly node: string;
  readonly atUs: number;
  readonly segment: number;
  readonly saved: string;
  readonly derived: string;
}

/** A record of a key that replaced another one on one node. */
export interface ReplacementRecord {
  readonly node: string;
  readonly atUs: number;
  readonly key: string;
  /** Empty: it is a true successor. */
  readonly fault: string;
}

export function checkExchanges(
  exchanges: readonly ExchangeRecord[],
  leaves: readonly LeafRecord[],
): CheckReport {
  const tally = new Tally('exchange-soundness');
  for (const exchange of exchanges) {
    if (exchange.skipped !== '') tally.skip();
    else compareExchange(exchange, tally);
  }
  for (const { node, atUs, segment, saved, derived } of leaves) {
    tally.compare(saved === derived, atUs, () => {
      return `${node} saved segment ${segment} of its tree as ${saved}; its store makes it ${derived}`;
    });
  }
  return tally.report();
}

function compareExchange(exchange: ExchangeRecord, tally: Tally): void {
  const { differing, touched, reported, endedUs, end } = exchange;
  for (const { key } of reported) {
    tally.compare(differing.has(key) || touched.has(key), endedUs, () => {
      return `${between(exchange)} reported ${key}, which was the same on both`;
    });
  }
  if (end !== 'finished') return;
  const found = new Set(reported.map(({ key }) => key));
  const missed = [...differing].filter((key) => !touched.has(key) && !found.has(key));
  tally.compare(missed.length === 0, endedUs, () => {
    return `${between(exchange)} finished without a word of ${missed.join(', ')}, which differed all the time`;
  });
}

export function checkRepairs(
  exchanges: readonly ExchangeRecord[],
  successions: readonly ReplacementRecord[],
): CheckReport {
  const tally = new Tally('repair-soundness');
  for (const { node, atUs, key, fault } of successions) {
    tally.compare(fault === '', atUs, () => `${node}: ${key}: ${fault}`);
  }
  for (const exchange of exchanges) {
    if (exchange.skipped !== '') tally.skip();
    else if (exchange.end === 'finished') compareRepairs(exchange, tally);
  }
  return tally.report();
}

function compareRepairs(exchange: ExchangeRecord, tally: Tally): void {
  const { differing, differingAtEnd, touched, touchedWithin, fromElsewhere } = exchange;
  const { reported, listed, endedUs, altered } = exchange;
  for (const { key, outcome } of reported) {
    // A repair writes it at least once; whatever was written more often may have been written by somebody else.
    if (outcome !== 'repaired' || !differing.has(key) || touchedWithin.get(key) !== 1) continue;
    if (fromElsewhere.has(key)) continue;
    tally.compare(!differingAtEnd.has(key), endedUs, () => {
      return `${between(exchange)} repaired ${key}, which differs all the same`;
    });
  }
  if (differing.size > 0 || touched.size > 0 || altered) return;
  tally.compare(listed === 0 && reported.length === 0, endedUs, () => {
    return `${between(exchange)} listed ${listed} keys and reported ${reported.length}, though all were equal`;
  });
}

export function checkStaleSnapshots(exchanges: readonly ExchangeRecord[]): CheckReport {
  const tally = new Tally('stale-snapshot-safety');
  for (const exchange of exchanges) {
    if (exchange.skipped !== '' || exchange.end !== 'finished') continue;
    const found = new Set(exchange.reported.map(({ key }) => key));
    for (const key of exchange.sinceSnapshot) {
      const silent = exchange.differing.has(key) && !exchange.touched.has(key) && !found.has(key);
      tally.compare(!silent, exchange.endedUs, () => {
        return `${between(exchange)} called ${key} equal, which changed after the snapshot and differs`;
      });
    }
  }
  return tally.report();
}

function between({ node, peer }: ExchangeRecord): string {
  return `an exchange of ${node} with ${peer}`;
}
