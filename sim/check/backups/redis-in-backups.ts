/**
 * `backup-consistency` (INV41) for the keys of Redis clients on database 0, with their expiries. A backup is judged as a
 * read of each key at its moment: after the last node held its writes back, before the first went on.
 *
 * - A counter holds at least the increments that were acknowledged by then, and at most those that had begun.
 * - Amounts are moved by transactions, so the balances add up to zero.
 * - A value that expires names the write that it is from, and its expiry is that write's: its time to live after an
 *   instant of the write, by the clock of the node that took it. The last value that was acknowledged is there unless
 *   it may have expired.
 * - A key that its client watches is written by that client alone. It holds what the client wrote last, and whether that
 *   expires. Transactions only check it: a restore that applied their checks would delete it.
 *
 * Skipped: everything if clients send FLUSHALL, or if a disk has lost data or may have lost what was not synced; keys of
 * transactions that an operator's decision left with two outcomes; and keys with a write that is in progress at the
 * moment, or of unknown outcome.
 */
import type { BackedUpRedisKey, BackupContents, BackupRecord } from '../../evidence/backups.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis, isIncrement } from '../../evidence/redis.ts';
import { setByWatch } from '../../evidence/redis-watches.ts';
import type { DiskLosses } from '../objects/disk-losses.ts';
import type { ClockErrors } from '../protocols/redis-expiry.ts';
import { hasMixedAccounts, isMixed } from '../protocols/redis-mixed.ts';
import type { Tally } from '../report.ts';

/** What the check reads beside the backup. */
export interface RedisBackupEvidence {
  readonly redis: readonly RedisRecord[];
  readonly clockErrors: ClockErrors;
  readonly diskLosses: DiskLosses;
  /** Keys of transactions that an operator's decision left with two outcomes. */
  readonly mixed: ReadonlySet<string>;
}

/** A backup and its moment: what was acknowledged before `heldUs` is in it, what began after `releasedUs` is not. */
interface Look {
  readonly backup: Pick<BackupRecord, 'id' | 'heldUs' | 'releasedUs' | 'completedUs'>;
  readonly keys: ReadonlyMap<string, BackedUpRedisKey>;
}

/** An expiry is a whole millisecond, and so is the time that it is computed from; in microseconds. */
const roundingUs = 2_000;

/** Judges the Redis keys of one backup. */
export function checkRedisInBackup(
  backup: Look['backup'] & { readonly contents: BackupContents },
  evidence: RedisBackupEvidence,
  tally: Tally,
): void {
  const { redis, diskLosses, mixed } = evidence;
  if (redis.length === 0) return;
  const { releasedUs, contents } = backup;
  const isWhole =
    diskLosses.lostBetween(0, releasedUs) === 0 &&
    diskLosses.unsyncedBetween(0, releasedUs, releasedUs) === 0;
  const isFlushed = redis.some(({ kind }) => kind === 'flushall');
  if (isFlushed || !isWhole || contents.inDoubt.length > 0 || contents.unreadable > 0) {
    tally.skip();
    return;
  }
  const look = { backup, keys: new Map(contents.redisKeys.map((one) => [one.key, one])) };
  const begun = redis.filter(({ final, invokedUs }) => !final && invokedUs <= releasedUs);
  checkCounters(look, begun, mixed, tally);
  if (hasMixedAccounts(mixed)) tally.skip();
  else checkBalances(look, tally);
  checkExpiring(look, begun, evidence, tally);
  checkWatchedKeys(look, begun, mixed, tally);
}

function checkCounters(
  { backup, keys }: Look,
  begun: readonly RedisRecord[],
  mixed: ReadonlySet<string>,
  tally: Tally,
): void {
  const increments = begun.filter((one) => isIncrement(one) && one.outcome !== 'fail');
  for (const key of new Set(increments.map((one) => one.key))) {
    if (isMixed(mixed, `c${key}`)) {
      tally.skip();
      continue;
    }
    const mine = increments.filter((one) => one.key === key);
    const least = mine.filter(
      ({ outcome, completedUs }) => outcome === 'ok' && completedUs < backup.heldUs,
    ).length;
    const held = keys.get(`c${key}`)?.value ?? 'nothing';
    const count = held === 'nothing' ? 0 : Number(held);
    tally.compare(count >= least && count <= mine.length, backup.completedUs, () => {
      return `backup ${backup.id} holds ${held} under c${key}: ${least} increments were acknowledged, and ${mine.length} had begun`;
    });
  }
}

function checkBalances({ backup, keys }: Look, tally: Tally): void {
  const accounts = [...keys.values()].filter(({ key }) => /^a\d+$/.test(key));
  if (accounts.length === 0) return;
  const total = accounts.reduce((sum, { value }) => sum + Number(value), 0);
  tally.compare(total === 0, backup.completedUs, () => {
    return `backup ${backup.id} holds balances that add up to ${total}`;
  });
}

function checkExpiring(
  look: Look,
  begun: readonly RedisRecord[],
  { mixed, clockErrors }: RedisBackupEvidence,
  tally: Tally,
): void {
  const writes = begun.filter(({ kind, outcome }) => kind === 'mortal' && outcome !== 'fail');
  for (const key of new Set(writes.map((one) => one.key))) {
    const mine = writes.filter((one) => one.key === key);
    const found = look.keys.get(`m${key}`);
    if (isMixed(mixed, `m${key}`)) tally.skip();
    else if (found === undefined) checkAbsent(look, mine, clockErrors, tally);
    else checkExpiry(look, found, mine, clockErrors, tally);
  }
}

/** The value is of a write that had begun, and expires when that write said. */
function checkExpiry(
  { backup }: Look,
  { key, value, expiresUs = 0 }: BackedUpRedisKey,
  writes: readonly RedisRecord[],
  clocks: ClockErrors,
  tally: Tally,
): void {
  const write = writes.find(({ id }) => id === value);
  tally.compare(write !== undefined, backup.completedUs, () => {
    return `backup ${backup.id} holds ${value} under ${key}, which no client wrote`;
  });
  if (write === undefined) return;
  const { leastMs, mostMs } = clocks.get(write.node) ?? { leastMs: 0, mostMs: 0 };
  const { invokedUs, completedUs, amount, outcome } = write;
  const firstUs = invokedUs + (leastMs + amount) * 1000 - roundingUs;
  // A write of unknown outcome may have been applied after its client gave up, and before the moment of the backup.
  const doneUs = outcome === 'ok' ? completedUs : Math.max(completedUs, backup.releasedUs);
  const lastUs = doneUs + (mostMs + amount) * 1000 + roundingUs;
  tally.compare(expiresUs >= firstUs && expiresUs <= lastUs, backup.completedUs, () => {
    const expiry = expiresUs === 0 ? 'without an expiry' : `until ${expiresUs} us`;
    return `backup ${backup.id} holds ${key} ${expiry}, written by ${describeRedis(write)}`;
  });
}

/** The value that was acknowledged last is there, unless its time may be over by the clock of some node. */
function checkAbsent(
  { backup }: Look,
  writes: readonly RedisRecord[],
  clocks: ClockErrors,
  tally: Tally,
): void {
  const last = lastWrite(writes, backup.heldUs);
  if (last === undefined) {
    tally.skip();
    return;
  }
  const aheadMs = Math.max(0, ...[...clocks.values()].map(({ mostMs }) => mostMs));
  const behindMs = clocks.get(last.node)?.leastMs ?? 0;
  const surelyUs = last.invokedUs + (last.amount + behindMs - aheadMs) * 1000 - roundingUs;
  tally.compare(backup.releasedUs >= surelyUs, backup.completedUs, () => {
    return `backup ${backup.id} lacks m${last.key}, which has not expired: ${describeRedis(last)}`;
  });
}

/** The write that was certainly the last one before `untilUs`; undefined if that is not known. */
function lastWrite(writes: readonly RedisRecord[], untilUs: number): RedisRecord | undefined {
  const last = writes.toSorted((left, right) => left.invokedUs - right.invokedUs).at(-1);
  if (last === undefined || last.outcome !== 'ok' || last.completedUs >= untilUs) return undefined;
  const isSure = writes.every(
    (one) => one === last || (one.outcome === 'ok' && one.completedUs < last.invokedUs),
  );
  return isSure ? last : undefined;
}

function checkWatchedKeys(
  { backup, keys }: Look,
  begun: readonly RedisRecord[],
  mixed: ReadonlySet<string>,
  tally: Tally,
): void {
  const watched = begun.filter(({ kind }) => kind === 'watched');
  for (const client of new Set(watched.map((one) => one.client))) {
    // A client does one thing at a time.
    const written = watched
      .filter((one) => one.client === client)
      .map((record) => ({ record, set: setByWatch(record) }))
      .filter(({ set }) => set !== 'none');
    const last = written.at(-1);
    if (last === undefined) continue;
    const { record, set } = last;
    const key = `w-${client}`;
    if (set !== 'lasting' || record.completedUs >= backup.heldUs || isMixed(mixed, key)) {
      tally.skip();
      continue;
    }
    const found = keys.get(key);
    tally.compare(found?.value === record.id && found.expiresUs === undefined, backup.completedUs, () => {
      const holds = found === undefined ? 'nothing' : `${found.value}, expiry ${found.expiresUs ?? 'none'}`;
      return `backup ${backup.id} holds ${holds} under ${key}, which transactions only watched since ${describeRedis(record)}`;
    });
  }
}
