/**
 * The access that each command needs, by its name in lower case. A command without a row is not served: `commands.ts`
 * builds its table from this one.
 */
import type { Access } from '../../auth/role.ts';

function rows(access: Access, names: string): readonly [string, Access][] {
  return names.split(' ').map((name) => [name, access]);
}

/** Access by command name. */
export const commandAccess: ReadonlyMap<string, Access> = new Map([
  // As in Redis: commands that a client may send before its password.
  ...rows('open', 'auth hello quit reset'),
  ...rows('read', 'ping echo select command info client time config wait save shutdown'),
  ...rows('read', 'get mget strlen getrange substr exists type ttl pttl expiretime pexpiretime'),
  ...rows('read', 'touch object getbit bitcount bitpos lcs'),
  ...rows('read', 'script eval_ro evalsha_ro'),
  ...rows('write', 'eval evalsha'),
  ...rows('read', 'keys scan dbsize randomkey'),
  ...rows('write', 'flushdb flushall'),
  ...rows('read', 'subscribe psubscribe ssubscribe unsubscribe punsubscribe sunsubscribe pubsub'),
  ...rows('write', 'publish spublish'),
  // The commands within a transaction need access of their own.
  ...rows('read', 'multi exec discard watch unwatch'),
  ...rows('write', 'set setnx setex psetex getset getdel getex append setrange mset msetnx'),
  ...rows('write', 'incr incrby decr decrby incrbyfloat del unlink'),
  ...rows('write', 'expire pexpire expireat pexpireat persist'),
  ...rows('write', 'setbit rename renamenx copy'),
]);
