/**
 * `durable-before-ack` (INV5), no acknowledgement before durability. At the moment a client receives `ok`, enough
 * distinct replicas of the key hold the write's tag in bytes that survive any crash: at least as many as the write
 * waited for. The world's disks supply the facts.
 *
 * Skipped: deletions, which leave no tag (`durability` checks that what they replaced does not return). Writes that a
 * later write may have seen and replaced before they were acknowledged: a replica that receives the successor first
 * keeps that instead. In buckets without siblings, writes that may have met a write that they had not seen: the older
 * of the two never reaches a disk. Losses of a lying disk (disk-losses.ts) are excused, because no node can see them.
 *
 * With `sync: N` nodes acknowledge first: copies are counted once the interval is over (sync-lag.ts), and a node whose
 * process ended meanwhile owes none.
 *
 * Redis commands: `protocols/redis-copies.ts`; flushes: `protocols/flush-copies.ts`.
 */
import type { FlushCopies } from '../../evidence/flush-copies.ts';
import type { PipelineCopies } from '../../evidence/pipeline-copies.ts';
import type { SyncLag } from '../../evidence/sync-lag.ts';
import { noLag } from '../../evidence/sync-lag.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import type { History, WriteOperation } from '../../evidence/history.ts';
import { byKey, describeOperation, isWrite } from '../../evidence/history.ts';
import type { DiskLosses } from './disk-losses.ts';
import { wholeDisks } from './disk-losses.ts';
import type { Causality } from './causality.ts';
import { causalityOf } from './causality.ts';
import { checkFlushCopies } from '../protocols/flush-copies.ts';
import { checkRedisCopies } from '../protocols/redis-copies.ts';
import { checkTransactionDurability } from '../transactions/transaction-durability.ts';
import type { TransactionFindings } from '../transactions/transactions.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally } from '../report.ts';

/** The evidence of one run; `transactions` is undefined if nothing observed any. */
export interface AcknowledgementEvidence {
  readonly history: History;
  readonly diskLosses: DiskLosses;
  readonly syncLag: SyncLag;
  readonly transactions: TransactionFindings | undefined;
  readonly redis: readonly RedisRecord[];
  /** Undefined if no pipeline is sent. */
  readonly pipelineCopies: PipelineCopies | undefined;
  /** Undefined if no client flushes a database. */
  readonly flushCopies: FlushCopies | undefined;
}

/** The row of `durable-before-ack`. */
export const durableBeforeAckRow = invariant({
  name: 'durable-before-ack',
  code: 'INV5',
  promise: 'no write is acknowledged before it is synced',
  gravity: 'data',
  breach: 'a power loss may take what was acknowledged',
  needs: [],
  everydayFloor: 10,
  check: (evidence: AcknowledgementEvidence) => {
    const { history, diskLosses, syncLag, transactions, redis, pipelineCopies, flushCopies } = evidence;
    const lostBetween = (fromUs: number, toUs: number): number => diskLosses.lostBetween(fromUs, toUs);
    const objects = checkAcknowledgement(history, diskLosses, syncLag);
    // What a transaction relies on is synced whatever the mode. What it wrote at other replicas, and the values of
    // Redis commands, are looked at when the client is answered, which is too soon here.
    if (syncLag.us > 0)
      return joinReports(objects, transactions && checkTransactionDurability(transactions.steps, []));
    return joinReports(
      objects,
      transactions && checkTransactionDurability(transactions.steps, transactions.history, lostBetween),
      pipelineCopies && checkRedisCopies(redis, pipelineCopies, lostBetween, transactions?.mixedByOperator),
      flushCopies && checkFlushCopies(redis, flushCopies, lostBetween),
    );
  },
});

/** Checks every acknowledged put of the history; `atlas` says which disks lost data, and when. */
export function checkAcknowledgement(
  history: History,
  atlas: DiskLosses = wholeDisks,
  lag: SyncLag = noLag,
): CheckReport {
  const tally = new Tally('durable-before-ack');
  const lasting = writesThatLast(history);
  for (const operations of byKey(history).values()) {
    for (const write of operations.filter(isWrite)) {
      if (write.outcome !== 'ok') continue;
      if (lasting.has(write.id)) compare(write, atlas, lag, tally);
      else tally.skip();
    }
  }
  return tally.report();
}

/** The ids of acknowledged puts whose value is stored on every replica that they reach, whatever else was written. */
export function writesThatLast(history: History): ReadonlySet<number> {
  const lasting = new Set<number>();
  for (const operations of byKey(history).values()) {
    const causality = causalityOf(operations);
    const writes = operations.filter(isWrite);
    for (const write of writes) {
      if (write.outcome !== 'ok' || write.kind === 'delete') continue;
      if (!writes.some((other) => mayStandForIt(other, write, causality))) lasting.add(write.id);
    }
  }
  return lasting;
}

function compare(write: WriteOperation, atlas: DiskLosses, lag: SyncLag, tally: Tally): void {
  const atUs = write.completedUs ?? write.invokedUs;
  const lost = atlas.lostBetween(write.invokedUs, atUs) + lag.endedBetween(write.invokedUs, atUs + lag.us);
  const owed = write.need - lost;
  tally.compare(write.durableCopies >= owed, atUs, () => {
    return `${describeOperation(write)}: acknowledged with ${write.durableCopies} of ${owed} promised durable copies`;
  });
}

/** A replica may have received `other` before `write` and kept only `other`. */
function mayStandForIt(other: WriteOperation, write: WriteOperation, causality: Causality): boolean {
  if (other.id === write.id || other.outcome === 'fail') return false;
  if (write.completedUs !== undefined && other.invokedUs > write.completedUs) return false;
  return write.siblings ? causality.perhaps(other, write) : !causality.surely(write, other);
}
