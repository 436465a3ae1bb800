/**
 * `session-guarantees` (INV20) for values that expire: no client sees a value after its expiry, or misses it before, by
 * more than the allowed clock difference. A value names the operation that wrote it. After the calm, all of them are
 * gone at every node.
 *
 * Skipped: reads of keys with a write of unknown outcome, or one in progress at the same time.
 */
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis } from '../../evidence/redis.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/**
 * Upper bound of the difference between two nodes' clocks, in microseconds (sim/world/cluster/cluster.ts: 200 ms either
 * way, and drift).
 */
const skewUs = 410_000;

/** Checks every read of a key with an expiry. */
export function checkRedisExpiry(records: readonly RedisRecord[]): CheckReport {
  const tally = new Tally('session-guarantees');
  const writes = records.filter(({ kind }) => kind === 'mortal');
  const looks = records.filter(({ kind, outcome }) => kind === 'look' && outcome === 'ok');
  for (const look of looks) {
    if (look.found === undefined) checkMissed(look, writes, tally);
    else checkFound(look, writes, tally);
  }
  return tally.report();
}

function checkFound(look: RedisRecord, writes: readonly RedisRecord[], tally: Tally): void {
  const write = writes.find(({ id, key }) => id === look.found && key === look.key);
  tally.compare(write !== undefined && write.outcome !== 'fail', look.completedUs, () => {
    return `nobody wrote that: ${describeRedis(look)}`;
  });
  if (write === undefined) return;
  // A write of unknown outcome may have been applied late.
  if (write.outcome === 'unknown' && !look.final) {
    tally.skip();
    return;
  }
  const endUs = write.completedUs + write.amount * 1000 + skewUs;
  tally.compare(look.invokedUs <= endUs, look.completedUs, () => {
    return `it has outlived its time: ${describeRedis(look)}, written by ${describeRedis(write)}`;
  });
}

function checkMissed(look: RedisRecord, writes: readonly RedisRecord[], tally: Tally): void {
  const mine = writes.filter(({ key, outcome }) => key === look.key && outcome !== 'fail');
  const before = mine.filter(({ completedUs }) => completedUs < look.invokedUs);
  const last = before.toSorted((left, right) => left.completedUs - right.completedUs).at(-1);
  if (last === undefined) return;
  const doubtful = mine.some(
    ({ outcome, invokedUs, completedUs }) =>
      outcome === 'unknown' || (invokedUs < look.completedUs && completedUs >= look.invokedUs),
  );
  const overlapping = before.some((other) => other !== last && other.completedUs >= last.invokedUs);
  if (doubtful || overlapping) {
    tally.skip();
    return;
  }
  const surelyUs = last.invokedUs + last.amount * 1000 - skewUs;
  tally.compare(look.completedUs >= surelyUs, look.completedUs, () => {
    return `it has not lived its time: ${describeRedis(look)}, written by ${describeRedis(last)}`;
  });
}
