/**
 * The commands of a Redis client on a database that is flushed. An operation is drawn from its amount, so that plans stay
 * short. Plain data.
 *
 * Keys: values `v<n>`, each SET to the operation's id; counters `n<n>`; pairs `x<n>` and `y<n>`, which only one
 * transaction sets, both to its id.
 */

/** The database of these operations; no other kind of operation uses it. */
export const flushedDatabase = 3;
const valueCount = 4;
const counterCount = 2;
const pairCount = 2;

/** What an operation does. `audit` reads every key. */
export type DatabaseAct =
  | { readonly kind: 'flush'; readonly all: boolean }
  | { readonly kind: 'set' | 'get' | 'incr'; readonly key: string }
  | { readonly kind: 'setPair' | 'getPair'; readonly keys: readonly [string, string] }
  | { readonly kind: 'size' | 'audit' };

/** Out of 100 operations, by what they do. */
const shares = { flush: 6, set: 24, get: 22, incr: 18, setPair: 12, getPair: 10, size: 8 } as const;

/** What the operation does. An amount of 0 is an audit. `all`: FLUSHALL instead of FLUSHDB. */
export function databaseActOf({ amount }: { readonly amount: number }, all: boolean): DatabaseAct {
  if (amount === 0) return { kind: 'audit' };
  const number = Math.floor(amount / 100);
  let rest = amount % 100;
  for (const [kind, share] of Object.entries(shares) as [keyof typeof shares, number][]) {
    if (rest >= share) {
      rest -= share;
      continue;
    }
    switch (kind) {
      case 'flush':
        return { kind, all };
      case 'set':
      case 'get':
        return { kind, key: `v${number % valueCount}` };
      case 'incr':
        return { kind, key: `n${number % counterCount}` };
      case 'setPair':
      case 'getPair':
        return { kind, keys: pairOf(number % pairCount) };
      case 'size':
        return { kind };
    }
  }
  return { kind: 'size' };
}

function pairOf(number: number): readonly [string, string] {
  return [`x${number}`, `y${number}`];
}

/** The values and counters that an audit reads, and then the pairs, each in a transaction. */
export const audited: {
  readonly keys: readonly string[];
  readonly pairs: readonly (readonly [string, string])[];
} = {
  keys: [
    ...Array.from({ length: valueCount }, (_, index) => `v${index}`),
    ...Array.from({ length: counterCount }, (_, index) => `n${index}`),
  ],
  pairs: Array.from({ length: pairCount }, (_, index) => pairOf(index)),
};

/** The commands of the operation, between a SELECT of the database and one of database 0. */
export function databaseCommands(id: string, act: DatabaseAct): readonly (readonly string[])[] {
  const pairRead = (keys: readonly string[]): readonly (readonly string[])[] => [
    ['MULTI'],
    ...keys.map((key) => ['GET', key]),
    ['EXEC'],
  ];
  const inside = (): readonly (readonly string[])[] => {
    switch (act.kind) {
      case 'flush':
        return [[act.all ? 'FLUSHALL' : 'FLUSHDB']];
      case 'set':
        return [['SET', act.key, id]];
      case 'get':
        return [['GET', act.key]];
      case 'incr':
        return [['INCR', act.key]];
      case 'setPair':
        return [['MULTI'], ...act.keys.map((key) => ['SET', key, id]), ['EXEC']];
      case 'getPair':
        return pairRead(act.keys);
      case 'size':
        return [['DBSIZE']];
      case 'audit':
        return [...audited.keys.map((key) => ['GET', key]), ...audited.pairs.flatMap(pairRead)];
    }
  };
  return [['SELECT', String(flushedDatabase)], ...inside(), ['SELECT', '0']];
}

/**
 * Whether the operation goes over the client's other connection, on which it watches keys: what they held as WATCH came
 * concerns every later read there. Transactions do not: a watched key that has changed ends them.
 */
export function isUnderWatch({ amount }: { readonly amount: number }, { kind }: DatabaseAct): boolean {
  const isAlone = kind !== 'setPair' && kind !== 'getPair' && kind !== 'audit';
  return isAlone && Math.floor(amount / 1_000) % 2 === 1;
}

/** The commands of the operation on that connection, which stays in the database. */
export function commandsWhileWatching(id: string, act: DatabaseAct): readonly (readonly string[])[] {
  return [...watchBefore(act), ...databaseCommands(id, act).slice(1, -1)];
}

/** Reads begin to watch their keys, and counting the keys ends all watches. */
export function watchBefore(act: DatabaseAct): readonly (readonly string[])[] {
  if (act.kind === 'get' || act.kind === 'incr') return [['WATCH', act.key]];
  return act.kind === 'size' ? [['UNWATCH']] : [];
}

/** The operation for people: `SET v0 in database 3`. */
export function databaseWords(act: DatabaseAct): string {
  const commandsOf: Readonly<Record<DatabaseAct['kind'], string>> = {
    ...{ flush: 'FLUSHDB', size: 'DBSIZE', audit: 'audit' },
    ...{ set: 'SET', get: 'GET', incr: 'INCR', setPair: 'MULTI-SET', getPair: 'MULTI-GET' },
  };
  if (act.kind === 'flush' && act.all) return 'FLUSHALL';
  const keys = 'keys' in act ? act.keys : 'key' in act ? [act.key] : [];
  return [commandsOf[act.kind], ...keys, 'in database', String(flushedDatabase)].join(' ');
}

/** Whether the operation changes what the database holds. */
export function isDatabaseWrite({ kind }: DatabaseAct): boolean {
  return kind === 'flush' || kind === 'set' || kind === 'incr' || kind === 'setPair';
}
