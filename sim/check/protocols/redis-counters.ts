/**
 * `exactly-once` (INV8), exactly once, over Redis counters. Every acknowledged increment counts once, one of unknown
 * outcome at most once, and a failed one never. The value that a read after the calm answers therefore lies between the
 * number of acknowledged increments that it must see and the number of all that were acknowledged or are unknown. It
 * must see those of its own datacenter, and all of them once the replicas have become equal: a level waits for no other
 * datacenter, and with hints, anti-entropy and read repair off nothing carries an increment to a replica that could not
 * store it. No two acknowledged increments returned the same number. An increment that began after another was answered
 * reflects it; so does a read that was answered in the same datacenter (levels count replicas of the client's
 * datacenter), unless the levels let a read miss a write.
 *
 * A script (EVAL) that increments a counter and moves an amount between accounts counts as an increment; one that never
 * ends fails, and so must not count.
 *
 * WATCH does not concern a script outside MULTI: it runs, whatever became of the watched key. One between MULTI and EXEC
 * does not, once its own client has written that key since.
 *
 * Likewise for amounts moved between accounts: whatever the outcome of each transfer, the balances add up to zero in
 * every snapshot and at the end, on every node. The nodes of one datacenter answer the same balances at the end; all
 * nodes do once the replicas have become equal.
 *
 * Skipped: counters, and all balances, of transactions that an operator's decision left with two outcomes.
 */
import type { LevelReach } from '../../evidence/level-reach.ts';
import { mustSeeAtLast } from '../../evidence/level-reach.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis, isIncrement } from '../../evidence/redis.ts';
import { watchedOf } from '../../evidence/redis-watches.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import { hasMixedAccounts, isMixed } from './redis-mixed.ts';

/** Checks counters and balances over the Redis clients' records. `mixed`: keys to skip (`redis-mixed.ts`). */
export function checkRedisCounters(
  records: readonly RedisRecord[],
  reach: LevelReach,
  mixed: ReadonlySet<string> = new Set(),
): CheckReport {
  const tally = new Tally('exactly-once');
  for (const [key, history] of byCounter(records)) {
    if (isMixed(mixed, `c${key}`)) tally.skip();
    else checkCounter(history, reach, tally);
  }
  checkWatches(records, tally);
  if (hasMixedAccounts(mixed)) tally.skip();
  else checkBalances(records, reach, tally);
  return tally.report();
}

function byCounter(records: readonly RedisRecord[]): ReadonlyMap<number, readonly RedisRecord[]> {
  const counters = new Map<number, RedisRecord[]>();
  for (const record of records) {
    if (!isIncrement(record) && record.kind !== 'read') continue;
    const known = counters.get(record.key);
    if (known === undefined) counters.set(record.key, [record]);
    else known.push(record);
  }
  return counters;
}

function checkCounter(history: readonly RedisRecord[], reach: LevelReach, tally: Tally): void {
  const increments = history.filter(({ kind }) => kind !== 'read');
  const done = increments.filter(({ outcome }) => outcome === 'ok');
  const doubtful = increments.filter(({ outcome }) => outcome === 'unknown').length;
  const most = done.length + doubtful;
  const holders = new Map<number, RedisRecord>();
  for (const record of done) {
    const value = record.counted ?? 0;
    const other = holders.get(value);
    holders.set(value, record);
    tally.compare(other === undefined, record.completedUs, () => {
      const first = other === undefined ? '' : describeRedis(other);
      return `one number for two increments: ${first}, ${describeRedis(record)}`;
    });
    tally.compare(value >= 1 && value <= most, record.completedUs, () => {
      return `${most} increments at most have happened: ${describeRedis(record)}`;
    });
  }
  checkOrder(history, reach, tally);
  for (const record of history) {
    if (!record.final || record.outcome !== 'ok') continue;
    const value = record.counted ?? 0;
    const least = done.filter((increment) => mustSeeAtLast(reach, increment, record)).length;
    tally.compare(value >= least && value <= most, record.completedUs, () => {
      return `${least} increments that it must see were acknowledged and ${doubtful} are unknown: ${describeRedis(record)}`;
    });
  }
}

/** An operation reflects every operation that was answered before it began. */
function checkOrder(history: readonly RedisRecord[], { meets }: LevelReach, tally: Tally): void {
  const answered = history.filter(({ outcome }) => outcome === 'ok');
  const byEnd = answered.toSorted((left, right) => left.completedUs - right.completedUs);
  const byBegin = answered.toSorted((left, right) => left.invokedUs - right.invokedUs);
  let highest: RedisRecord | undefined;
  const highestIn = new Map<string, RedisRecord>();
  let next = 0;
  for (const record of byBegin) {
    for (; (byEnd[next]?.completedUs ?? Infinity) < record.invokedUs; next++) {
      const ended = byEnd[next];
      if (ended === undefined) break;
      const { datacenter, counted = 0 } = ended;
      if (counted > (highest?.counted ?? 0)) highest = ended;
      if (counted > (highestIn.get(datacenter)?.counted ?? 0)) highestIn.set(datacenter, ended);
    }
    const before = record.kind === 'read' ? highestIn.get(record.datacenter) : highest;
    if (before === undefined) continue;
    if (record.kind === 'read' && !meets) {
      tally.skip();
      continue;
    }
    const seen = record.counted ?? 0;
    const least = (before.counted ?? 0) + (record.kind === 'read' ? 0 : 1);
    tally.compare(seen >= least, record.completedUs, () => {
      return `${describeRedis(record)} does not see ${describeRedis(before)}`;
    });
  }
}

/** Each script behind WATCH ran, or did not, as WATCH demands. */
function checkWatches(records: readonly RedisRecord[], tally: Tally): void {
  for (const record of records) {
    if (record.kind !== 'watched') continue;
    const { isQueued, isTouched, ran } = watchedOf(record);
    // A replica's refusal is no answer of the script.
    if (ran === undefined) {
      tally.skip();
      continue;
    }
    if (!isQueued)
      tally.compare(
        ran,
        record.completedUs,
        () => `WATCH kept a script from running: ${describeRedis(record)}`,
      );
    else if (isTouched)
      tally.compare(!ran, record.completedUs, () => `the watched key was written: ${describeRedis(record)}`);
    else tally.skip();
  }
}

function checkBalances(records: readonly RedisRecord[], reach: LevelReach, tally: Tally): void {
  const snapshots = records.filter(({ kind, outcome }) => kind === 'snapshot' && outcome === 'ok');
  for (const record of snapshots) {
    const total = record.balances.reduce((sum, balance) => sum + balance, 0);
    tally.compare(total === 0, record.completedUs, () => {
      return `the balances add up to ${total}: ${describeRedis(record)}`;
    });
  }
  const finals = snapshots.filter(({ final }) => final);
  for (const [index, record] of finals.entries()) {
    const first = finals.slice(0, index).find((earlier) => mustSeeAtLast(reach, earlier, record));
    if (first === undefined) continue;
    tally.compare(record.balances.join() === first.balances.join(), record.completedUs, () => {
      return `two nodes tell other balances: ${describeRedis(record)}`;
    });
  }
}
