/**
 * `session-guarantees` (INV20) over a Redis database that clients flush. A flush counts as a deletion of all keys in one
 * instant between its command and its answer; one of unknown outcome may take effect at any later time, or never.
 *
 * - Nothing comes back: no read finds a value, and no DBSIZE counts a key, whose write was answered before an acknowledged
 *   flush began that ended before the read.
 * - Nothing else is lost: a read finds a key that was written, unless a flush may have come between.
 *   So do the calls of SCAN that follow an audit, and they come to an end.
 * - Whole or gone: of two keys that transactions always set together, a transaction reads both with the same value.
 * - Counters begin anew: an increment is at most one above the increments that a flush may have spared, and above every
 *   one that was answered before it, unless a flush may have come between.
 *
 * Skipped: where the configured levels let a read miss a write, and keys of transactions that an operator's decision left
 * with two outcomes; pairs over which a flush may have come that deletes key by key, since a member may know no epochs of
 * buckets.
 */
import type { LevelReach } from '../../evidence/level-reach.ts';
import { mustSee } from '../../evidence/level-reach.ts';
import type { DatabaseAct } from '../../evidence/redis-databases.ts';
import { audited, databaseActOf } from '../../evidence/redis-databases.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis } from '../../evidence/redis.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import { hasMixedInFlushed, isMixedInFlushed } from './redis-mixed.ts';

/** One operation of a client on the database. */
interface Step {
  readonly record: RedisRecord;
  readonly act: DatabaseAct;
  /** When it had certainly happened, if it did: infinite for an operation of unknown outcome. */
  readonly doneUs: number;
}

/** What one read found of one key. */
interface Found {
  readonly record: RedisRecord;
  readonly key: string;
  /** Undefined: nothing. */
  readonly value: string | undefined;
}

/** Checks every operation on the flushed database. `mixed`: keys to skip (`redis-mixed.ts`). `byKey`: so flushes delete. */
export function checkRedisFlushes(
  records: readonly RedisRecord[],
  reach: LevelReach,
  mixed: ReadonlySet<string> = new Set(),
  byKey = false,
): CheckReport {
  const tally = new Tally('session-guarantees');
  const steps = records.flatMap((record): readonly Step[] => {
    if (record.kind !== 'database' && record.kind !== 'flushall') return [];
    if (record.outcome === 'fail') return [];
    const act = databaseActOf(record, record.kind === 'flushall');
    return [{ record, act, doneUs: record.outcome === 'ok' ? record.completedUs : Infinity }];
  });
  if (steps.length === 0) return tally.report();
  const flushes = steps.filter(({ act }) => act.kind === 'flush');
  for (const step of steps) {
    const { record, act } = step;
    if (record.outcome !== 'ok') continue;
    for (const found of foundBy(record, act)) {
      if (isMixedInFlushed(mixed, found.key)) tally.skip();
      else checkFound(found, steps, flushes, reach, tally);
    }
    if (record.walked !== undefined)
      tally.compare(record.walked.ended, record.completedUs, () => {
        return `SCAN comes to no end: ${describeRedis(record)}`;
      });
    for (const pair of pairsIn(record, act)) {
      // The two keys of a pair are of one transaction.
      const mayBeTorn = byKey && isFlushedMeanwhile(pair, record, steps, flushes);
      if (mayBeTorn || pairKeysOf(act).some((key) => isMixedInFlushed(mixed, key))) tally.skip();
      else checkPair(record, pair, tally);
    }
    if (act.kind === 'incr') checkCount(step, act.key, steps, flushes, tally);
    if (act.kind === 'size') {
      // One key with two outcomes changes the size by one.
      if (hasMixedInFlushed(mixed)) tally.skip();
      else checkSize(step, steps, flushes, reach, tally);
    }
  }
  return tally.report();
}

/** The last acknowledged flush that ended before `atUs`. */
function lastBefore(flushes: readonly Step[], atUs: number): Step | undefined {
  let last: Step | undefined;
  for (const flush of flushes)
    if (flush.doneUs < atUs && flush.record.invokedUs > (last?.record.invokedUs ?? -Infinity)) last = flush;
  return last;
}

/** A flush that may have come after the write began and before `untilUs`. */
function between(flushes: readonly Step[], write: Step, untilUs: number): Step | undefined {
  return flushes.find(({ record, doneUs }) => doneUs > write.record.invokedUs && record.invokedUs < untilUs);
}

/** One half is gone, and a flush may have come between the write of the other one and the read. */
function isFlushedMeanwhile(
  pair: readonly string[],
  { completedUs }: RedisRecord,
  steps: readonly Step[],
  flushes: readonly Step[],
): boolean {
  const values = pair.map(valueIn);
  if (!values.includes(undefined)) return false;
  const writes = steps.filter(({ record }) => values.includes(record.id));
  return writes.some((write) => between(flushes, write, completedUs) !== undefined);
}

function checkFound(
  { record, key, value }: Found,
  steps: readonly Step[],
  flushes: readonly Step[],
  reach: LevelReach,
  tally: Tally,
): void {
  if (!reach.meets) {
    tally.skip();
    return;
  }
  if (key.startsWith('n')) return;
  const writes = steps.filter(({ act }) => keysOf(act).includes(key));
  if (value === undefined) {
    const lost = writes.find(
      (write) =>
        write.doneUs < record.invokedUs &&
        mustSee(reach, write.record, record) &&
        between(flushes, write, record.completedUs) === undefined,
    );
    tally.compare(lost === undefined, record.completedUs, () => {
      return `${key} is not there, although no flush followed ${lost === undefined ? '' : describeRedis(lost.record)}: ${describeRedis(record)}`;
    });
    return;
  }
  const writer = writes.find((write) => write.record.id === value);
  const flush = lastBefore(flushes, record.invokedUs);
  const isBack = writer !== undefined && flush !== undefined && writer.doneUs < flush.record.invokedUs;
  tally.compare(writer !== undefined && !isBack, record.completedUs, () => {
    const why =
      writer === undefined
        ? 'no operation wrote that'
        : `flushed by ${flush === undefined ? '' : describeRedis(flush.record)}`;
    return `${key} is ${value}, ${why}: ${describeRedis(record)}`;
  });
}

function checkPair(record: RedisRecord, [left, right]: readonly [string, string], tally: Tally): void {
  tally.compare(left === right, record.completedUs, () => {
    return `half of a transaction is there (${left}, ${right}): ${describeRedis(record)}`;
  });
}

function checkCount(
  { record }: Step,
  key: string,
  steps: readonly Step[],
  flushes: readonly Step[],
  tally: Tally,
): void {
  const others = steps.filter(
    ({ act, record: other }) => act.kind === 'incr' && act.key === key && other !== record,
  );
  const counted = countedBy(record);
  const flush = lastBefore(flushes, record.invokedUs);
  const beganUs = flush?.record.invokedUs ?? -Infinity;
  const most =
    1 +
    others.filter((other) => other.doneUs > beganUs && other.record.invokedUs < record.completedUs).length;
  tally.compare(counted <= most, record.completedUs, () => {
    return `${key} counts ${counted}, at most ${most} since the last flush: ${describeRedis(record)}`;
  });
  for (const other of others) {
    if (other.doneUs >= record.invokedUs || between(flushes, other, record.completedUs) !== undefined)
      continue;
    tally.compare(counted > countedBy(other.record), record.completedUs, () => {
      return `${key} counts ${counted}, not above ${describeRedis(other.record)}: ${describeRedis(record)}`;
    });
  }
}

function checkSize(
  { record }: Step,
  steps: readonly Step[],
  flushes: readonly Step[],
  reach: LevelReach,
  tally: Tally,
): void {
  const flush = lastBefore(flushes, record.invokedUs);
  if (flush === undefined || !reach.meets) {
    tally.skip();
    return;
  }
  const spared = steps.filter(
    (write) => write.doneUs > flush.record.invokedUs && write.record.invokedUs < record.completedUs,
  );
  const keys = new Set(spared.flatMap(({ act }) => keysOf(act)));
  const size = Number((record.replies[1] ?? '').slice(1));
  tally.compare(size <= keys.size, record.completedUs, () => {
    return `${size} keys are there, at most ${keys.size} were written since ${describeRedis(flush.record)}: ${describeRedis(record)}`;
  });
}

/** The keys that the operation writes. */
function keysOf(act: DatabaseAct): readonly string[] {
  switch (act.kind) {
    case 'set':
    case 'incr':
      return [act.key];
    case 'setPair':
      return act.keys;
    default:
      return [];
  }
}

function countedBy({ replies }: RedisRecord): number {
  return Number((replies[1] ?? '').slice(1));
}

function foundBy(record: RedisRecord, act: DatabaseAct): readonly Found[] {
  const at = (key: string, reply: string | undefined): Found => ({ record, key, value: valueIn(reply) });
  if (act.kind === 'get') return [at(act.key, record.replies[1])];
  if (act.kind === 'getPair') {
    const [left, right] = pairsIn(record, act)[0] ?? ['', ''];
    return [at(act.keys[0], left), at(act.keys[1], right)];
  }
  if (act.kind !== 'audit') return [];
  const pairs = pairsIn(record, act);
  return [
    ...audited.keys.map((key, index) => at(key, record.replies[1 + index])),
    ...audited.pairs.flatMap(([left, right], index) => [
      at(left, pairs[index]?.[0]),
      at(right, pairs[index]?.[1]),
    ]),
    ...unnamedIn(record).map((key) => at(key, undefined)),
  ];
}

/** The keys that an audit did not meet when it walked over all of them. */
function unnamedIn({ walked }: RedisRecord): readonly string[] {
  if (walked === undefined) return [];
  return [...audited.keys, ...audited.pairs.flat()].filter((key) => !walked.keys.includes(key));
}

/** The replies to the two GETs of each transaction that reads a pair. */
function pairsIn({ replies }: RedisRecord, { kind }: DatabaseAct): readonly (readonly [string, string])[] {
  if (kind !== 'getPair' && kind !== 'audit') return [];
  return replies
    .filter((reply) => reply.startsWith('*'))
    .map((reply) => {
      const [left = '', right = ''] = JSON.parse(reply.slice(1)) as readonly string[];
      return [left, right];
    });
}

/** The keys of the pairs that the operation reads. */
function pairKeysOf(act: DatabaseAct): readonly string[] {
  if (act.kind === 'audit') return audited.pairs.flat();
  return act.kind === 'getPair' ? act.keys : [];
}

function valueIn(reply: string | undefined): string | undefined {
  return reply?.startsWith('=') === true ? reply.slice(1) : undefined;
}
