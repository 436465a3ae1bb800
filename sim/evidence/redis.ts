/**
 * What simulated Redis clients did and saw, for the checks. Plain data. Counters are `c<n>`, accounts `a<n>`, values
 * that expire `m<n>`, pages `p<n>` (`redis-pages.ts`), keys of pipelines `h<n>`, `d<n>` and `s<n>`
 * (`redis-pipelines.ts`), channels `ch<n>` (`redis-messages.ts`). A database that clients flush has keys of its own
 * (`redis-databases.ts`).
 */
import type { Outcome } from './history.ts';
import { databaseActOf, databaseWords } from './redis-databases.ts';

/** The kinds of Redis operations that a plan can hold. */
export const redisKinds = [
  'incr',
  'read',
  'transfer',
  'snapshot',
  'mortal',
  'look',
  'page',
  'script',
  'watched',
  'pipeline',
  'sets',
  'publish',
  'listen',
  'database',
  'flushall',
] as const;
/** One kind of Redis operation. */
export type RedisKind = (typeof redisKinds)[number];

/** The calls of SCAN over a database, from cursor 0 until it returns 0. */
export interface KeyWalk {
  readonly keys: readonly string[];
  readonly ended: boolean;
}

/** One Redis operation: what the client sent, and what it was answered. */
export interface RedisRecord {
  /** The operation's id in the plan, or `final …` for a read after the calm. */
  readonly id: string;
  readonly kind: RedisKind;
  readonly client: string;
  readonly node: string;
  /** That of the node. */
  readonly datacenter: string;
  /**
   * Number of the key; for a transfer, of the account that pays; for a script, behind WATCH or not, of the counter that
   * it increments.
   */
  readonly key: number;
  /**
   * For a transfer: the account that is paid, and the amount. For a script: the account that pays account 0. For a value that expires: `amount` is its time to live in
   * milliseconds.
   */
  readonly other: number;
  readonly amount: number;
  readonly invokedUs: number;
  readonly completedUs: number;
  readonly outcome: Outcome;
  /** Why it was not `ok`, for people. */
  readonly reason: string;
  /**
   * The answer: the counter, the balances of all accounts, or the id of the operation that wrote the value that
   * expires.
   */
  readonly counted: number | undefined;
  readonly balances: readonly number[];
  readonly found: string | undefined;
  /**
   * For a page, a pipeline, a script behind WATCH, a publisher, a listener or a flushed database: the reply to each
   * command, `-` an error, `+` a status, `:` an integer, `=` a value, `nil` none, `*` a JSON array of such texts. If the
   * connection was lost, the replies before that.
   */
  readonly replies: readonly string[];
  /** For a pipeline, a publisher or a listener: when each reply was there. */
  readonly repliedUs?: readonly number[];
  /** For a publisher: which of the client's connections it was, counted from 1. */
  readonly connection?: number;
  /** For an audit of a flushed database: the keys that SCAN named, call by call, and whether that came to an end. */
  readonly walked?: KeyWalk;
  /** For a listener: when it sent its commands to unsubscribe, if it did. */
  readonly leftUs?: number;
  readonly final: boolean;
}

/** Whether the operation increments the counter of its key. */
export function isIncrement({ kind }: Pick<RedisRecord, 'kind'>): boolean {
  return kind === 'incr' || kind === 'script' || kind === 'watched';
}

/** First words of errors after which the command may have been carried out. */
export const indefiniteErrors: readonly string[] = [
  'INDOUBT',
  'NOQUORUM',
  'TIMEOUT',
  'STORAGEFAILED',
  'PEERGONE',
  'INTERNAL',
];

/**
 * The commands that write the value `id`, which lives for `ttlMs`. By that number, a plain SET, PSETEX, or the steps of
 * one transaction: APPEND and SETRANGE must keep the time to live, and of several PEXPIRE only the one whose condition
 * holds has an effect (a key without an expiry counts as the one that expires last).
 */
export function mortalCommands(
  name: string,
  id: string,
  ttlMs: number,
): readonly (readonly (string | number)[])[] {
  switch (ttlMs % 6) {
    case 1:
    case 5:
      return [['MULTI'], ['SET', name, '', 'PX', ttlMs], ['APPEND', name, id], ['EXEC']];
    case 3:
      return [['MULTI'], ['SET', name, '-', 'PX', ttlMs], ['SETRANGE', name, 0, id], ['EXEC']];
    case 4: {
      const expiries = [
        [1, 'GT'],
        [1, 'XX'],
        [ttlMs, 'NX'],
        [1, 'NX'],
        [1, 'GT'],
        [2 * ttlMs, 'LT'],
      ] as const;
      const steps = expiries.map(([ms, condition]) => ['PEXPIRE', name, ms, condition]);
      return [['MULTI'], ['SET', name, id], ...steps, ['EXEC']];
    }
    default:
      return otherExpiries(name, id, ttlMs);
  }
}

/** Seconds since the epoch; later than any node's clock. */
const distant = 4_102_444_800;

/**
 * Other commands that give an expiry or take it away. Where they do what they should, the PEXPIRE behind them applies:
 * NX to a key that has no expiry any more, XX to one that has got one.
 */
function otherExpiries(name: string, id: string, ttlMs: number): readonly (readonly (string | number)[])[] {
  const set = ['SET', name, id] as const;
  const within = (
    ...steps: readonly (readonly (string | number)[])[]
  ): readonly (readonly (string | number)[])[] => [['MULTI'], ...steps, ['EXEC']];
  const onlyNow = ['PEXPIRE', name, ttlMs, 'NX'];
  const onlyMore = ['PEXPIRE', name, ttlMs, 'XX'];
  switch (Math.floor(ttlMs / 6) % 10) {
    case 0:
      return [['PSETEX', name, ttlMs, id]];
    case 1:
      return within(['DEL', name], ['SETNX', name, id], ['SETNX', name, '-'], onlyNow);
    case 2:
      return within(set, ['GETEX', name, 'PX', ttlMs]);
    case 3:
      return within([...set, 'EX', 1], ['GETEX', name, 'PERSIST'], onlyNow);
    case 4:
      return within([...set, 'EX', 1], ['PERSIST', name], onlyNow);
    case 5:
      return within([...set, 'EXAT', distant], onlyMore);
    case 6:
      return within(set, ['PEXPIREAT', name, distant * 1000], onlyMore);
    case 7:
      return within([...set, 'PXAT', distant * 1000], ['GETEX', name, 'EXAT', distant + 1], onlyMore);
    default:
      return [[...set, 'PX', ttlMs]];
  }
}

/** `SET m3 o7 PX 250`: the commands of a value that expires, and of what looks at it; of others the kind and the key. */
function wordsOf({ id, kind, key, amount }: RedisRecord): string {
  if (kind === 'look') return `GET m${key}`;
  if (kind !== 'mortal') return `${kind} ${key}`;
  const commands = mortalCommands(`m${key}`, id, amount);
  return commands.map((words) => words.join(' ')).join(', ');
}

/** One line for people: `#o7 c1 incr c3 at n2: ok 17`. */
export function describeRedis(record: RedisRecord): string {
  const { id, client, kind, node, outcome, counted, balances, found, reason } = record;
  const saw = [counted ?? '', balances.join(' '), found ?? ''].join(' ').trim();
  const isOnDatabase = kind === 'database' || kind === 'flushall';
  const what = isOnDatabase ? databaseWords(databaseActOf(record, kind === 'flushall')) : wordsOf(record);
  return `#${id} ${client} ${what} at ${node}: ${outcome} ${saw}${reason === '' ? '' : ` (${reason})`}`;
}
