/**
 * `session-guarantees` (INV20) for values that expire: no client sees a value after its expiry, or misses it before. A
 * value names the operation that wrote it. After the calm, all of them are gone at every node.
 *
 * The node that a client writes at dates the expiry by its wall clock; the node that a client reads at, and any node
 * that drops expired values, compare that date with theirs. So what may be late or early is computed from the errors of
 * these clocks in this run (`ClockErrors`).
 *
 * A value that expires between WATCH and MULTI keeps EXEC from running, as a write would.
 *
 * Skipped: reads of keys with a write of unknown outcome, or one in progress at the same time, reads that the
 * configured levels let miss the write, EXEC at nodes whose clocks jump, and keys of transactions that an operator's
 * decision left with two outcomes.
 */
import type { LevelReach } from '../../evidence/level-reach.ts';
import { mustSee } from '../../evidence/level-reach.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis } from '../../evidence/redis.ts';
import { watchedOf, watchedSpareMs } from '../../evidence/redis-watches.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import { isMixed } from './redis-mixed.ts';

/** By node: how far its wall clock was from the true time whenever the node read it, in milliseconds. */
export type ClockErrors = ReadonlyMap<string, { readonly leastMs: number; readonly mostMs: number }>;

/** Wall clocks show whole milliseconds, and an expiry is one; in microseconds. */
const roundingUs = 2_000;

/** Checks every read of a key with an expiry. `mixed`: keys to skip (`redis-mixed.ts`). */
export function checkRedisExpiry(
  records: readonly RedisRecord[],
  clocks: ClockErrors,
  reach: LevelReach,
  mixed: ReadonlySet<string> = new Set(),
): CheckReport {
  const tally = new Tally('session-guarantees');
  const writes = records.filter(({ kind }) => kind === 'mortal');
  const looks = records.filter(({ kind, outcome }) => kind === 'look' && outcome === 'ok');
  for (const look of looks) {
    if (isMixed(mixed, `m${look.key}`)) tally.skip();
    else if (look.found === undefined) checkMissed(look, writes, clocks, reach, tally);
    else checkFound(look, writes, clocks, reach, tally);
  }
  for (const record of records) if (record.kind === 'watched') checkWatched(record, clocks, reach, tally);
  return tally.report();
}

function checkFound(
  look: RedisRecord,
  writes: readonly RedisRecord[],
  clocks: ClockErrors,
  { requestUsMax }: LevelReach,
  tally: Tally,
): void {
  const write = writes.find(({ id, key }) => id === look.found && key === look.key);
  tally.compare(write !== undefined && write.outcome !== 'fail', look.completedUs, () => {
    return `no client wrote that: ${describeRedis(look)}`;
  });
  if (write === undefined) return;
  // A write of unknown outcome may have been applied late.
  if (write.outcome === 'unknown' && !look.final) {
    tally.skip();
    return;
  }
  // Dated by a clock that is ahead, compared with one that is behind.
  const lateMs = errorAt(write, clocks).mostMs - errorAt(look, clocks).leastMs;
  const doneUs =
    write.outcome === 'unknown'
      ? Math.max(write.completedUs, write.invokedUs + requestUsMax)
      : write.completedUs;
  const endUs = doneUs + (write.amount + lateMs) * 1000 + roundingUs;
  tally.compare(look.invokedUs <= endUs, look.completedUs, () => {
    return `it has outlived its time: ${describeRedis(look)}, written by ${describeRedis(write)}`;
  });
}

function checkMissed(
  look: RedisRecord,
  writes: readonly RedisRecord[],
  clocks: ClockErrors,
  reach: LevelReach,
  tally: Tally,
): void {
  const mine = writes.filter(({ key, outcome }) => key === look.key && outcome !== 'fail');
  const before = mine.filter(({ completedUs }) => completedUs < look.invokedUs);
  const last = before.toSorted((left, right) => left.completedUs - right.completedUs).at(-1);
  if (last === undefined) return;
  const doubtful = mine.some(
    ({ outcome, invokedUs, completedUs }) =>
      outcome === 'unknown' || (invokedUs < look.completedUs && completedUs >= look.invokedUs),
  );
  const overlapping = before.some((other) => other !== last && other.completedUs >= last.invokedUs);
  if (doubtful || overlapping || !mustSee(reach, last, look)) {
    tally.skip();
    return;
  }
  // Dated by a clock that is behind; any node whose clock is ahead may have dropped it.
  const aheadMs = Math.max(...[...clocks.values()].map(({ mostMs }) => mostMs));
  const earlyMs = aheadMs - errorAt(last, clocks).leastMs;
  const surelyUs = last.invokedUs + (last.amount - earlyMs) * 1000 - roundingUs;
  tally.compare(look.completedUs >= surelyUs, look.completedUs, () => {
    return `it has not lived its time: ${describeRedis(look)}, written by ${describeRedis(last)}`;
  });
}

function checkWatched(record: RedisRecord, clocks: ClockErrors, reach: LevelReach, tally: Tally): void {
  const { isExpiring, ran } = watchedOf(record);
  if (!isExpiring) return;
  const { leastMs, mostMs } = errorAt(record, clocks);
  // WATCH need not have read the value, or the node's clock may have gone back behind the expiry.
  if (ran === undefined || !reach.meets || (mostMs - leastMs) * 1000 > watchedSpareMs * 1000 - roundingUs) {
    tally.skip();
    return;
  }
  tally.compare(!ran, record.completedUs, () => `the watched value had expired: ${describeRedis(record)}`);
}

function errorAt(
  { node }: RedisRecord,
  clocks: ClockErrors,
): { readonly leastMs: number; readonly mostMs: number } {
  return clocks.get(node) ?? { leastMs: 0, mostMs: 0 };
}
