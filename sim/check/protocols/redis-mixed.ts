/**
 * Keys of Redis commands, transactions and scripts that an operator's heuristic decision may have left with two
 * outcomes. Some branches have applied such a transaction and others have not, whatever its client was answered: no
 * promise about the values of its keys is left. The names are those of the engine's steps, `redis/c0`.
 */
import { flushedDatabase } from '../../evidence/redis-databases.ts';

/** Whether a mixed transaction wrote the key of database 0. */
export function isMixed(mixed: ReadonlySet<string>, key: string): boolean {
  return mixed.has(`redis/${key}`);
}

/** Whether a mixed transaction wrote the key of the database that clients flush. */
export function isMixedInFlushed(mixed: ReadonlySet<string>, key: string): boolean {
  return mixed.has(`redis:${flushedDatabase}/${key}`);
}

/** Whether a mixed transaction wrote any key of the database that clients flush. */
export function hasMixedInFlushed(mixed: ReadonlySet<string>): boolean {
  return [...mixed].some((name) => name.startsWith(`redis:${flushedDatabase}/`));
}

/** Whether a mixed transaction moved an amount: the balances need not add up any more. */
export function hasMixedAccounts(mixed: ReadonlySet<string>): boolean {
  return [...mixed].some((name) => name.startsWith('redis/a'));
}
