/**
 * `session-guarantees` (INV20), session guarantees (Terry, Demers, Petersen, Spreitzer, Theimer, Welch, "Session
 * Guarantees for Weakly Consistent Replicated Data", 1994), per client and key:
 *
 * - read your writes, monotonic reads: where the read's quorum meets the write's, a read shows this client's
 *   acknowledged earlier write, or an acknowledged one that it was shown before, or something that is not older;
 * - writes follow reads, monotonic writes: at any level, a client that is shown a write is not shown what that write's
 *   own client had seen when it wrote it.
 *
 * A value may be back beside what replaced it from the time on when a coordinator has rightly pruned the entry that
 * covers it (evidence/prunings.ts). A read still shows what its client has written or seen, or what may have seen that.
 *
 * Skipped: pairs whose quorums need not meet.
 */
import type { LevelReach } from '../../evidence/level-reach.ts';
import type { History, ReadOperation, WriteOperation } from '../../evidence/history.ts';
import { byKey, describeOperation, isRead, isWrite } from '../../evidence/history.ts';
import type { Prunings } from '../../evidence/prunings.ts';
import { nothingPruned } from '../../evidence/prunings.ts';
import type { Causality } from './causality.ts';
import { causalityOf } from './causality.ts';
import type { DiskLosses } from './disk-losses.ts';
import { wholeDisks } from './disk-losses.ts';
import type { KeyTerms } from './durability.ts';
import { isKept, mustMeet } from './durability.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import type { TransactionFindings } from '../transactions/transactions.ts';
import type { ClockErrors } from '../protocols/redis-expiry.ts';
import { checkRedisExpiry } from '../protocols/redis-expiry.ts';
import { checkRedisFlushes } from '../protocols/redis-flushes.ts';
import { checkRedisPages } from '../protocols/redis-pages.ts';
import { checkRedisPipelines } from '../protocols/redis-pipelines.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally } from '../report.ts';

/** What clients did with single objects and by Redis commands, and what lost disks and pruned contexts excuse. */
export interface SessionEvidence {
  readonly history: History;
  readonly diskLosses: DiskLosses;
  readonly prunings: Prunings;
  readonly redis: readonly RedisRecord[];
  readonly levelReach: LevelReach;
  /** A member may know no epochs of buckets: a flush then deletes key by key. */
  readonly flushesByKey: boolean;
  readonly clockErrors: ClockErrors;
  /** Undefined if nothing observed transactions. */
  readonly transactions: TransactionFindings | undefined;
}

/** The row of `session-guarantees`. */
export const sessionGuaranteesRow = invariant({
  name: 'session-guarantees',
  code: 'INV20',
  promise: 'clients read their writes and never go back',
  gravity: 'data',
  breach: 'a client sees its own write disappear, or an older value after a newer one',
  needs: [],
  everydayFloor: 10,
  check: ({ redis, levelReach, transactions, ...evidence }: SessionEvidence) =>
    joinReports(
      checkSessions(evidence.history, evidence.diskLosses, evidence.prunings),
      checkRedisExpiry(redis, evidence.clockErrors, levelReach, transactions?.mixedByOperator),
      checkRedisPages(redis, levelReach),
      checkRedisPipelines(redis, levelReach, transactions?.mixedByOperator),
      checkRedisFlushes(redis, levelReach, transactions?.mixedByOperator, evidence.flushesByKey),
    ),
});

/** Checks a history key by key; `atlas` says which disks lost data, and when. */
export function checkSessions(
  history: History,
  atlas: DiskLosses = wholeDisks,
  prunings: Prunings = nothingPruned,
): CheckReport {
  const tally = new Tally('session-guarantees');
  for (const operations of byKey(history).values()) checkKey(operations, atlas, prunings, tally);
  return tally.report();
}

function checkKey(operations: History, atlas: DiskLosses, prunings: Prunings, tally: Tally): void {
  const causality = causalityOf(operations);
  const terms = { causality, writes: operations.filter(isWrite), prunings };
  for (const read of operations.filter(isRead)) {
    if (read.outcome !== 'ok') continue;
    checkFollows(read, operations, terms, tally);
    for (const write of knownTo(read, operations, causality)) {
      if (!mustMeet(write, read, atlas)) tally.skip();
      else
        tally.compare(isKept(write, read, terms), read.completedUs ?? read.invokedUs, () => {
          return `${describeOperation(read)}: its client had written or seen ${describeOperation(write)}`;
        });
    }
  }
}

/** Acknowledged writes that the reader had made itself, or had been shown, before it read. */
function knownTo(read: ReadOperation, operations: History, causality: Causality): readonly WriteOperation[] {
  const known = new Map<number, WriteOperation>();
  for (const earlier of operations) {
    if (earlier.client !== read.client || earlier.id >= read.id || earlier.outcome !== 'ok') continue;
    if (isWrite(earlier)) known.set(earlier.id, earlier);
    else
      for (const tag of earlier.values) {
        const write = causality.writeOf(tag);
        if (write !== undefined && isAcknowledgedBefore(write, read)) known.set(write.id, write);
      }
  }
  return [...known.values()];
}

function isAcknowledgedBefore(write: WriteOperation, read: ReadOperation): boolean {
  return write.outcome === 'ok' && write.completedUs !== undefined && write.completedUs < read.invokedUs;
}

/** A read does not show a write beside the values that this write replaced. */
function checkFollows(
  read: ReadOperation,
  operations: History,
  { causality, prunings }: KeyTerms,
  tally: Tally,
): void {
  const readUs = read.completedUs ?? read.invokedUs;
  for (const tag of read.values) {
    const write = causality.writeOf(tag);
    const seen = operations.find((one) => one.id === write?.contextFrom);
    if (seen === undefined || !isRead(seen)) continue;
    for (const old of seen.values) {
      const replaced = causality.writeOf(old);
      const mayBeBack = replaced !== undefined && prunings.mayBeBack(replaced, readUs);
      tally.compare(mayBeBack || !read.values.includes(old), readUs, () => {
        return `${describeOperation(read)}: it shows ${old} beside ${tag}, which was written over it`;
      });
    }
  }
}
