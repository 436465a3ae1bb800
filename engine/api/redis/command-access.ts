/**
 * What each command asks of who sends it, by its name in small letters. A command without a row is not served
 * (commands.ts builds its table over this one; command-access.test.ts).
 */
import type { Access } from '../../auth/role.ts';

function rows(access: Access, names: string): readonly [string, Access][] {
  return names.split(' ').map((name) => [name, access]);
}

export const commandAccess: ReadonlyMap<string, Access> = new Map([
  // As Redis: what a client says before it has given its password.
  ...rows('open', 'auth hello quit reset'),
  ...rows('read', 'ping echo select command info client'),
  ...rows('read', 'get mget strlen getrange substr exists type ttl pttl expiretime pexpiretime'),
  ...rows('read', 'keys scan dbsize randomkey'),
  // A transaction's commands ask for themselves.
  ...rows('read', 'multi exec discard watch unwatch'),
  ...rows('write', 'set setnx setex psetex getset getdel getex append setrange mset msetnx'),
  ...rows('write', 'incr incrby decr decrby incrbyfloat del unlink'),
  ...rows('write', 'expire pexpire expireat pexpireat persist'),
]);
