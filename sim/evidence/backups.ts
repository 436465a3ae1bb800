/** What an operator's backups of the running cluster hold, read back as a restore would read them. */
import type { SeenKey } from './transactions.ts';

/** One key of objects, as a backup holds it. */
export interface BackedUpObject {
  /** Bucket and key, as `b0/k3`. */
  readonly key: string;
  /** Tags of the values; empty if the backup holds none. */
  readonly values: readonly string[];
}

/** One key of database 0 of Redis, as a backup holds it: a value that is no tombstone, expired or not. */
export interface BackedUpRedisKey {
  readonly key: string;
  readonly value: string;
  /** When it expires by a clock that is right, in virtual microseconds; undefined: never. */
  readonly expiresUs: number | undefined;
}

/** What a backup holds of the keys that clients use. */
export interface BackupContents {
  readonly objects: readonly BackedUpObject[];
  readonly transactionKeys: readonly SeenKey[];
  /** All that have a value. */
  readonly redisKeys: readonly BackedUpRedisKey[];
  /** Transactions whose outcome the backup does not say. */
  readonly inDoubt: readonly string[];
  /** Transactions that were prepared at a node and count as aborted. */
  readonly aborted: readonly string[];
  /** Keys of which no copy could be read. */
  readonly unreadable: number;
}

/** One backup, as the operator took it. Times are virtual microseconds. */
export interface BackupRecord {
  readonly id: string;
  readonly invokedUs: number;
  readonly completedUs: number;
  readonly outcome: 'ok' | 'fail';
  /** Why there is no backup, or why it cannot be read back; empty if both went well. */
  readonly reason: string;
  /** The members that took part. */
  readonly nodes: readonly string[];
  /** The last node held its writes back from here on, and the first one was told to go on here. */
  readonly heldUs: number;
  readonly releasedUs: number;
  /** What nodes were left with, as clauses: writes held back and segments pinned though the backup was over. */
  readonly leftBehind: readonly string[];
  /** Undefined if there is no backup, or if it cannot be read back. */
  readonly contents: BackupContents | undefined;
}

/** The host of the operator who takes backups. */
export const backupOperator = 'backup-operator';

/** `k0 backup-operator takes a backup of n1 n2 n3: ok, 12 objects`. */
export function describeBackup({ id, outcome, reason, nodes, contents }: BackupRecord): string {
  const end = contents === undefined ? reason : `${contents.objects.length} keys of objects`;
  return `${id} ${backupOperator} takes a backup of ${nodes.join(' ')}: ${outcome}, ${end}`;
}
