/**
 * Checks each anti-entropy exchange against what the stores of both sides held (read off their disks, sim/observe). All
 * functions are pure.
 *
 * `exchange-soundness` (INV11): an exchange reports the keys that differ. Every reported key differed at some instant
 * of the exchange. Every key that differed from its begin to its end is reported when it finishes. No exchange is
 * aborted because a node does not understand the other: the peer was busy, or its environment failed. A saved tree is
 * the tree of the store at its position, leaf by leaf.
 *
 * `repair-soundness` (INV12): on a node, no record of a key is replaced by one that knows less, or that brings back
 * what was replaced or deleted (what a coordinator may prune from a context, the next record need not know). Keys
 * that an exchange reports as repaired are equal when it finishes. An exchange of equal stores lists no key and
 * repairs nothing, and a node begins a sweep no more often than its interval says, so there is no churn.
 *
 * `stale-snapshot-safety` (INV14): consider a key that changed after the snapshot with which an incarnation began, and
 * before that incarnation. No exchange reports it as equal when it differs.
 *
 * Skipped: keys that a third party wrote during an exchange or shortly before, where microseconds decide which side
 * counts; exchanges with a disk that has unreadable places; exchanges while the ring changes. A flushed object that one
 * side has not removed yet may be reported, and need not be.
 */
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally, uncounted } from '../report.ts';

/** A key that an exchange reported, with its outcome. */
export interface ReportedKey {
  readonly key: string;
  readonly outcome: string;
}

/** One exchange between two nodes; times are virtual microseconds. */
export interface ExchangeRecord {
  readonly node: string;
  readonly peer: string;
  readonly beganUs: number;
  readonly endedUs: number;
  readonly end: 'finished' | 'aborted' | 'cut';
  /** The code of the error that aborted it; empty if the peer was busy, or if it was not aborted. */
  readonly code: string;
  /** Keys listed by either side. */
  readonly listed: number;
  readonly reported: readonly ReportedKey[];
  /** Keys on which the sides differed at the begin; at the end. */
  readonly differing: ReadonlySet<string>;
  readonly differingAtEnd: ReadonlySet<string>;
  /** Keys on which the sides differed at the begin by nothing but objects that were flushed. */
  readonly flushed: ReadonlySet<string>;
  /**
   * Number of writes of the key by either side, from shortly before the begin to the end; during the exchange alone.
   */
  readonly touched: ReadonlyMap<string, number>;
  readonly touchedWithin: ReadonlyMap<string, number>;
  /**
   * Keys whose newest record on either side was not synced when the exchange began, so that the node did not count it, or
   * may belong to the write that its store has failed at.
   */
  readonly doubted: ReadonlySet<string>;
  /** Keys of which a side received, during the exchange, a version that neither side had at its begin. */
  readonly fromElsewhere: ReadonlySet<string>;
  /**
   * Keys of which one side has removed its record while the other one still holds a tombstone. The one that removed it
   * remembers that for a while, and does not take the tombstone back.
   */
  readonly removed: ReadonlySet<string>;
  /** Keys that changed after the snapshot with which either incarnation began, and before that incarnation. */
  readonly sinceSnapshot: ReadonlySet<string>;
  /** Why the exchange cannot be judged; empty if it can. */
  readonly skipped: string;
  /** A fault altered a leaf of either tree: the exchange may list keys in vain. */
  readonly altered: boolean;
}

/** A leaf of a saved tree, beside the leaf that the store's records up to its position imply. */
export interface LeafRecord {
  readonly node: string;
  readonly atUs: number;
  readonly segment: number;
  readonly saved: string;
  readonly derived: string;
}

/** A replacement of a key's record on one node. */
export interface ReplacementRecord {
  readonly node: string;
  readonly atUs: number;
  readonly key: string;
  /** Empty if the new record is a valid successor. */
  readonly fault: string;
}

/** A node has read every value again, and begins to compare with each of its peers. */
export interface SweepStart {
  /** The node and its incarnation, for people. */
  readonly incarnation: string;
  readonly atUs: number;
  /** The shortest time between two sweeps that no operator asks for, as the node is configured. */
  readonly intervalUs: number;
}

/** The records of the exchange observer. */
export interface ExchangeEvidence {
  readonly exchanges: {
    readonly sweeps: readonly SweepStart[];
    readonly exchanges: readonly ExchangeRecord[];
    readonly leaves: readonly LeafRecord[];
    readonly successions: readonly ReplacementRecord[];
  };
}

/** The row of `exchange-soundness`. */
export const exchangeSoundnessRow = invariant({
  name: 'exchange-soundness',
  code: 'INV11',
  promise: 'anti-entropy reports exactly what differs',
  gravity: 'data',
  breach: 'anti-entropy passes over a difference, or repairs what is equal',
  needs: ['exchanges'],
  check: ({ exchanges }: ExchangeEvidence) => checkExchanges(exchanges.exchanges, exchanges.leaves),
});

/** Codes of errors that only a bug of one of the two nodes causes. */
const unexplained: readonly string[] = ['FrameInvalid', 'BadRequest', 'Internal'];

function compareAborted(exchange: ExchangeRecord, tally: Tally): void {
  tally.compare(!unexplained.includes(exchange.code), exchange.endedUs, () => {
    return `${between(exchange)} was aborted with ${exchange.code}, which no fault of its environment explains`;
  });
}

/** Checks `exchange-soundness`. */
export function checkExchanges(
  exchanges: readonly ExchangeRecord[],
  leaves: readonly LeafRecord[],
): CheckReport {
  const tally = new Tally('exchange-soundness');
  const aborted = new Tally('exchange-soundness');
  for (const exchange of exchanges) {
    if (exchange.end === 'aborted') compareAborted(exchange, aborted);
    if (exchange.skipped !== '') tally.skip();
    else compareExchange(exchange, tally);
  }
  for (const { node, atUs, segment, saved, derived } of leaves) {
    tally.compare(saved === derived, atUs, () => {
      return `${node} saved segment ${segment} of its hash tree with ${saved}; the objects of its store, hashed again, give ${derived}`;
    });
  }
  return joinReports(tally.report(), uncounted(aborted.report()));
}

function compareExchange(exchange: ExchangeRecord, tally: Tally): void {
  const { differing, flushed, touched, doubted, reported, endedUs, end } = exchange;
  for (const { key } of reported) {
    tally.compare(differing.has(key) || touched.has(key) || doubted.has(key), endedUs, () => {
      return `${between(exchange)} reported ${key}, which was the same on both`;
    });
  }
  if (end !== 'finished') return;
  const found = new Set(reported.map(({ key }) => key));
  const open = [...differing].filter((key) => !flushed.has(key) && !doubted.has(key));
  const missed = open.filter((key) => !touched.has(key) && !found.has(key));
  tally.compare(missed.length === 0, endedUs, () => {
    return `${between(exchange)} finished without a word of ${missed.join(', ')}, which differed all the time`;
  });
}

/** The row of `repair-soundness`. */
export const repairSoundnessRow = invariant({
  name: 'repair-soundness',
  code: 'INV12',
  promise: 'repairs lose and resurrect nothing, and end',
  gravity: 'data',
  breach: 'a repair overwrites something newer, brings a deletion back, or never ends',
  needs: ['exchanges'],
  check: ({ exchanges: { exchanges, successions, sweeps } }: ExchangeEvidence) =>
    joinReports(checkRepairs(exchanges, successions), uncounted(checkSweeps(sweeps))),
});

/** Checks `repair-soundness`. */
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
  const { differing, differingAtEnd, touched, touchedWithin, fromElsewhere, doubted } = exchange;
  const { reported, listed, endedUs, altered, removed } = exchange;
  for (const { key, outcome } of reported) {
    if (outcome !== 'repaired' || !differing.has(key) || fromElsewhere.has(key) || doubted.has(key)) continue;
    // The repair itself writes the key; a second write may be a third party's.
    const writes = touchedWithin.get(key) ?? 0;
    if (writes > 1 || (writes === 0 && removed.has(key))) continue;
    tally.compare(!differingAtEnd.has(key), endedUs, () => {
      return `${between(exchange)} repaired ${key}, which differs all the same`;
    });
  }
  if (differing.size > 0 || touched.size > 0 || doubted.size > 0 || altered) return;
  tally.compare(listed === 0 && reported.length === 0, endedUs, () => {
    return `${between(exchange)} listed ${listed} keys and reported ${reported.length}, though all were equal`;
  });
}

/** Clocks run fast by so much at most, and a tick is so much early. */
const driftPart = 0.001;
const earlyUsMax = 10_000;

/** Compares the time between sweeps with the interval. */
export function checkSweeps(sweeps: readonly SweepStart[]): CheckReport {
  const tally = new Tally('repair-soundness');
  const last = new Map<string, number>();
  for (const { incarnation, atUs, intervalUs } of sweeps) {
    const before = last.get(incarnation);
    last.set(incarnation, atUs);
    if (before === undefined) continue;
    tally.compare(atUs - before >= intervalUs * (1 - driftPart) - earlyUsMax, atUs, () => {
      return `${incarnation}, began a sweep ${atUs - before} us after the last one, and ${intervalUs} us is its interval`;
    });
  }
  return tally.report();
}

/** The row of `stale-snapshot-safety`. */
export const staleSnapshotSafetyRow = invariant({
  name: 'stale-snapshot-safety',
  code: 'INV14',
  promise: 'a stale snapshot hides no difference',
  gravity: 'data',
  breach: 'an old snapshot hides differences from anti-entropy',
  needs: ['exchanges'],
  check: ({ exchanges }: ExchangeEvidence) => checkStaleSnapshots(exchanges.exchanges),
});

/** Checks `stale-snapshot-safety`. */
export function checkStaleSnapshots(exchanges: readonly ExchangeRecord[]): CheckReport {
  const tally = new Tally('stale-snapshot-safety');
  for (const exchange of exchanges) {
    if (exchange.skipped !== '' || exchange.end !== 'finished') continue;
    const found = new Set(exchange.reported.map(({ key }) => key));
    for (const key of exchange.sinceSnapshot) {
      const { differing, flushed, touched, doubted } = exchange;
      const differs = differing.has(key) && !flushed.has(key);
      const silent = differs && !touched.has(key) && !doubted.has(key) && !found.has(key);
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
