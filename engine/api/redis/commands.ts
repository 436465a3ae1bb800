/**
 * The table of all served commands: number of arguments, which arguments are keys, what the command does to them, and
 * its counter. Dispatch, COMMAND, the counters and the documentation use it.
 */
import type { Access } from '../../auth/role.ts';
import { commandAccess } from './command-access.ts';
import * as bits from './bit-commands.ts';
import * as keys from './key-commands.ts';
import * as scripts from './script-commands.ts';
import { keyCountAt, scriptKeyCount } from './script-commands.ts';
import { lcs } from './longest-common.ts';
import { publish } from './messages/publish-command.ts';
import type { Apply } from './value-commands.ts';
import * as values from './value-commands.ts';

/** The counters of the server statistics, `redis_req_…`. */
export type RedisField =
  | 'get'
  | 'set'
  | 'del'
  | 'incr_decr'
  | 'keys'
  | 'mget'
  | 'scan'
  | 'sort'
  | 'lreqm'
  | 'sunion'
  | 'ping'
  | 'lists'
  | 'sets'
  | 'hashes'
  | 'sortedsets'
  | 'other';

/** Which arguments are keys: from `first` to `last` (negative: counted from the end), every `step`. */
export interface KeyPlaces {
  readonly first: number;
  readonly last: number;
  readonly step: number;
  /** The argument that states the number of keys, which begin at `first`; undefined: they reach to `last`. */
  readonly countAt?: number;
}

/**
 * Whether a command concerns the connection, a transaction, the whole keyspace, or the keys that it names; whether it
 * publishes a message, or is about subscriptions.
 */
export type CommandKind =
  'connection' | 'transaction' | 'keyspace' | 'read' | 'write' | 'publish' | 'subscription';

/** One served command. */
export interface Command {
  /** In lower case. */
  readonly name: string;
  /** Arguments including the name; negative: the minimum. */
  readonly arity: number;
  readonly kind: CommandKind;
  readonly field: RedisField;
  readonly places: KeyPlaces | undefined;
  /** The function over the working set; undefined for commands that have neither keys nor messages. */
  readonly apply: Apply | undefined;
  /** The access that the client needs. */
  readonly access: Access;
}

type Unguarded = Omit<Command, 'access'>;

const oneKey: KeyPlaces = { first: 1, last: 1, step: 1 };
const allKeys: KeyPlaces = { first: 1, last: -1, step: 1 };
const twoKeys: KeyPlaces = { first: 1, last: 2, step: 1 };
const scriptKeys: KeyPlaces = { first: keyCountAt + 1, last: -1, step: 1, countAt: keyCountAt };
const pairs: KeyPlaces = { first: 1, last: -1, step: 2 };

function onKeys(
  kind: 'read' | 'write',
  field: RedisField,
  arity: number,
  name: string,
  apply: Apply,
  places = oneKey,
): Unguarded {
  return { name, arity, kind, field, places, apply };
}

function without(kind: CommandKind, field: RedisField, arity: number, name: string): Unguarded {
  return { name, arity, kind, field, places: undefined, apply: undefined };
}

const list: readonly Unguarded[] = [
  onKeys('read', 'get', 2, 'get', values.get),
  onKeys('read', 'mget', -2, 'mget', values.mget, allKeys),
  onKeys('read', 'other', 2, 'strlen', values.strlen),
  onKeys('read', 'other', 4, 'getrange', values.getrange),
  onKeys('read', 'other', 4, 'substr', values.getrange),
  onKeys('read', 'other', -2, 'exists', keys.exists, allKeys),
  onKeys('read', 'other', -2, 'touch', keys.exists, allKeys),
  onKeys('read', 'other', -2, 'object', keys.object, { first: 2, last: 2, step: 1 }),
  onKeys('read', 'other', 3, 'getbit', bits.getbit),
  onKeys('read', 'other', -2, 'bitcount', bits.bitcount),
  onKeys('read', 'other', -3, 'bitpos', bits.bitpos),
  onKeys('read', 'other', -3, 'lcs', lcs, twoKeys),
  onKeys('read', 'other', 2, 'type', keys.type),
  onKeys('read', 'other', 2, 'ttl', keys.ttl),
  onKeys('read', 'other', 2, 'pttl', keys.pttl),
  onKeys('read', 'other', 2, 'expiretime', keys.expiretime),
  onKeys('read', 'other', 2, 'pexpiretime', keys.pexpiretime),
  onKeys('write', 'set', -3, 'set', values.set),
  onKeys('write', 'set', 3, 'setnx', values.setnx),
  onKeys('write', 'set', 4, 'setex', values.setex),
  onKeys('write', 'set', 4, 'psetex', values.psetex),
  onKeys('write', 'set', 3, 'getset', values.getset),
  onKeys('write', 'set', 2, 'getdel', values.getdel),
  onKeys('write', 'set', -2, 'getex', values.getex),
  onKeys('write', 'set', 3, 'append', values.append),
  onKeys('write', 'set', 4, 'setrange', values.setrange),
  onKeys('write', 'set', -3, 'mset', values.mset, pairs),
  onKeys('write', 'set', -3, 'msetnx', values.msetnx, pairs),
  onKeys('write', 'incr_decr', 2, 'incr', values.incr),
  onKeys('write', 'incr_decr', 3, 'incrby', values.incrby),
  onKeys('write', 'incr_decr', 2, 'decr', values.decr),
  onKeys('write', 'incr_decr', 3, 'decrby', values.decrby),
  onKeys('write', 'incr_decr', 3, 'incrbyfloat', values.incrbyfloat),
  onKeys('write', 'del', -2, 'del', keys.del, allKeys),
  onKeys('write', 'del', -2, 'unlink', keys.del, allKeys),
  onKeys('write', 'other', -3, 'expire', keys.expire),
  onKeys('write', 'other', -3, 'pexpire', keys.pexpire),
  onKeys('write', 'other', -3, 'expireat', keys.expireat),
  onKeys('write', 'other', -3, 'pexpireat', keys.pexpireat),
  onKeys('write', 'other', 2, 'persist', keys.persist),
  onKeys('write', 'set', 4, 'setbit', bits.setbit),
  onKeys('write', 'other', 3, 'rename', keys.rename, twoKeys),
  onKeys('write', 'other', 3, 'renamenx', keys.renamenx, twoKeys),
  onKeys('write', 'other', -3, 'copy', keys.copy, twoKeys),
  without('keyspace', 'other', -1, 'flushdb'),
  without('keyspace', 'other', -1, 'flushall'),
  onKeys('write', 'other', -3, 'eval', scripts.evaluate, scriptKeys),
  onKeys('write', 'other', -3, 'evalsha', scripts.evaluateHash, scriptKeys),
  onKeys('read', 'other', -3, 'eval_ro', scripts.evaluateReadOnly, scriptKeys),
  onKeys('read', 'other', -3, 'evalsha_ro', scripts.evaluateHashReadOnly, scriptKeys),
  without('keyspace', 'keys', 2, 'keys'),
  without('keyspace', 'scan', -2, 'scan'),
  without('keyspace', 'other', 1, 'dbsize'),
  without('keyspace', 'other', 1, 'randomkey'),
  { ...without('publish', 'other', 3, 'publish'), apply: publish },
  { ...without('publish', 'other', 3, 'spublish'), apply: publish },
  without('subscription', 'other', -2, 'subscribe'),
  without('subscription', 'other', -2, 'psubscribe'),
  without('subscription', 'other', -2, 'ssubscribe'),
  without('subscription', 'other', -1, 'unsubscribe'),
  without('subscription', 'other', -1, 'punsubscribe'),
  without('subscription', 'other', -1, 'sunsubscribe'),
  without('subscription', 'other', -2, 'pubsub'),
  without('transaction', 'other', 1, 'multi'),
  without('transaction', 'other', 1, 'exec'),
  without('transaction', 'other', 1, 'discard'),
  { ...without('transaction', 'other', -2, 'watch'), places: allKeys },
  without('transaction', 'other', 1, 'unwatch'),
  without('connection', 'ping', -1, 'ping'),
  without('connection', 'other', 2, 'echo'),
  without('connection', 'other', -1, 'hello'),
  without('connection', 'other', -2, 'auth'),
  without('connection', 'other', 2, 'select'),
  without('connection', 'other', -1, 'quit'),
  without('connection', 'other', 1, 'reset'),
  without('connection', 'other', -1, 'command'),
  without('connection', 'other', -1, 'info'),
  without('connection', 'other', -2, 'client'),
  without('connection', 'other', 1, 'time'),
  without('connection', 'other', -2, 'config'),
  without('connection', 'other', 3, 'wait'),
  without('connection', 'other', -2, 'script'),
  without('connection', 'other', 1, 'save'),
  without('connection', 'other', -1, 'shutdown'),
];

/** Commands by name in lower case: those of the list that have a row in `command-access.ts`. */
export const commands: ReadonlyMap<string, Command> = new Map(
  list.flatMap((command) => {
    const access = commandAccess.get(command.name);
    return access === undefined ? [] : [[command.name, { ...command, access }]];
  }),
);

/** Commands of Redis that this listener refuses, by their counter. */
const refusedFields: readonly (readonly [RedisField, string])[] = [
  ['sort', 'sort sort_ro'],
  ['lreqm', 'lrem'],
  ['sunion', 'sunion sunionstore'],
  [
    'lists',
    'blmove blmpop blpop brpop brpoplpush lindex linsert llen lmove lmpop lpop lpos lpush lpushx lrange lset ltrim rpop rpoplpush rpush rpushx',
  ],
  [
    'sets',
    'sadd scard sdiff sdiffstore sinter sintercard sinterstore sismember smembers smismember smove spop srandmember srem sscan',
  ],
  [
    'hashes',
    'hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset hrandfield hscan hset hsetnx hstrlen hvals',
  ],
  [
    'sortedsets',
    'bzmpop bzpopmax bzpopmin zadd zcard zcount zdiff zdiffstore zincrby zinter zintercard zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrange zrangebylex zrangebyscore zrangestore zrank zrem zremrangebylex zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion zunionstore',
  ],
];

const fieldsOfRefused: ReadonlyMap<string, RedisField> = new Map(
  refusedFields.flatMap(([field, names]) => names.split(' ').map((name) => [name, field] as const)),
);

/** The counter of a command by its name in lower case, served or not. */
export function fieldOf(name: string): RedisField {
  return commands.get(name)?.field ?? fieldsOfRefused.get(name) ?? 'other';
}

/** Commands on keys that need to know whether there is a value, and until when, but not the value itself. */
const valueless: ReadonlySet<string> = new Set(
  'exists touch type ttl pttl expiretime pexpiretime mset msetnx setnx setex psetex del unlink'.split(' '),
);

/** Whether the command needs the values of its keys. */
export function looksAtValues({ name }: Command, request: readonly Buffer[]): boolean {
  if (name === 'set') return request.slice(3).some((word) => word.toString('latin1').toUpperCase() === 'GET');
  return !valueless.has(name);
}

/** Whether the command accepts `count` arguments, its name included. */
export function hasArity({ arity }: Command, count: number): boolean {
  return arity >= 0 ? count === arity : count >= -arity;
}

/** The arguments that are keys; none if a script's arguments state an impossible number of them. */
export function* keysOf({ places }: Command, request: readonly Buffer[]): Generator<Buffer, void, undefined> {
  if (places === undefined) return;
  let last = places.last < 0 ? request.length + places.last : places.last;
  if (places.countAt !== undefined) last = places.first + scriptKeyCount(request) - 1;
  for (let at = places.first; at <= last; at += places.step) {
    const key = request[at];
    if (key !== undefined) yield key;
  }
}
