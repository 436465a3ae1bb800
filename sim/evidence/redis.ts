/**
 * What simulated Redis clients did and saw, as the checks read it. Plain data. Counters are `c<n>`, accounts `a<n>`, values
 * that expire `m<n>`, pages `p<n>` (redis-pages.ts).
 */
import type { Outcome } from './history.ts';

export const redisKinds = ['incr', 'read', 'transfer', 'snapshot', 'mortal', 'look', 'page'] as const;
export type RedisKind = (typeof redisKinds)[number];

export interface RedisRecord {
  /** The operation's, or `final …` for what is read after the calm. */
  readonly id: string;
  readonly kind: RedisKind;
  readonly client: string;
  readonly node: string;
  /** Number of the key; of a transfer the account that pays. */
  readonly key: number;
  /** Of a transfer the account that is paid, and how much; of a mortal value the milliseconds that it shall live. */
  readonly other: number;
  readonly amount: number;
  readonly invokedUs: number;
  readonly completedUs: number;
  readonly outcome: Outcome;
  /** Why it was not `ok`, for people. */
  readonly reason: string;
  /** What was answered: the counter, the balances of all accounts, or of a mortal value the operation that wrote it. */
  readonly counted: number | undefined;
  readonly balances: readonly number[];
  readonly found: string | undefined;
  /** Of a page: the reply to each command, `-` an error, `+` a status, `=` a value, `nil` none. */
  readonly replies: readonly string[];
  readonly final: boolean;
}

/** `#o7 c1 incr c3 at n2: ok 17`, for people. */
export function describeRedis(record: RedisRecord): string {
  const { id, client, kind, key, node, outcome, counted, balances, found, reason } = record;
  const saw = [counted ?? '', balances.join(' '), found ?? ''].join(' ').trim();
  return `#${id} ${client} ${kind} ${key} at ${node}: ${outcome} ${saw}${reason === '' ? '' : ` (${reason})`}`;
}
