/** Which keys a Redis operation names. Pure. */
import type { RedisRecord } from './redis.ts';
import { audited, databaseActOf } from './redis-databases.ts';
import { pageCommands } from './redis-pages.ts';
import { pipelineCommands } from './redis-pipelines.ts';

/** The keys of the operation, each once; none for messages. */
export function keysOfRedis({ id, kind, key, other, amount, balances }: RedisRecord): readonly string[] {
  switch (kind) {
    case 'incr':
    case 'read':
      return [`c${key}`];
    case 'mortal':
    case 'look':
      return [`m${key}`];
    case 'transfer':
      return [...new Set([`a${key}`, `a${other}`])];
    case 'script':
    case 'watched':
      return [...new Set([`a${other}`, 'a0', `c${key}`])];
    case 'snapshot':
      return balances.map((_, account) => `a${account}`);
    case 'page':
      return [...new Set(pageCommands({ id, key, other }).map(({ page }) => page))];
    case 'database':
    case 'flushall':
      return keysOnDatabase(databaseActOf({ amount }, kind === 'flushall'));
    case 'pipeline':
    case 'sets':
      return [...new Set(pipelineCommands({ id, kind, amount }).flatMap(({ keys }) => keys))];
    case 'publish':
    case 'listen':
      return [];
  }
}

function keysOnDatabase(act: ReturnType<typeof databaseActOf>): readonly string[] {
  switch (act.kind) {
    case 'set':
    case 'get':
    case 'incr':
      return [act.key];
    case 'setPair':
    case 'getPair':
      return act.keys;
    case 'audit':
      return [...audited.keys, ...audited.pairs.flat()];
    case 'flush':
    case 'size':
      return [];
  }
}
